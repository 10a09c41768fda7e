"""Visits of queued postings of the pivot index: their filters are tested, and their targets added."""

from libc.stdint cimport uint32_t

from cbnet._kernels.pivot_state cimport State
from cbnet._kernels.pivot_view cimport View

cdef void deliver(const View *view, State *state, uint32_t target) noexcept nogil
cdef void visit_queued(const View *view, State *state) noexcept nogil
