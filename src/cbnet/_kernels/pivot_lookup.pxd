"""Lookups in the pivot index: from attributes to the buckets and lists of pivots that hold, which are queued."""

from cbnet._kernels.pivot_match cimport State
from cbnet._kernels.pivot_view cimport View

cdef enum:
    UNSCREENED = 4   # entries of a bucket or list, that fill a cache line

cdef void look_up_values(const View *view, State *state) noexcept nogil
cdef void look_up_patterns(const View *view, State *state) noexcept nogil
cdef void find_queued(const View *view, State *state) noexcept nogil
