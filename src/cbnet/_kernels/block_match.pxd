"""Matching with the block index: a group of messages against one block after the other.

    messages ──► cells ──► blocks visited ──► rows, AND ──► survivors ──► tests ──► found, per message
                           rows are fetched   entries are fetched         tests are fetched

The messages of a group visit a block one after the other, while its rows are in the cache: with a million filters of five
ranges a message costs about half as much in a group of 64 as alone. What a message has found is added by `add_found`.
"""

from libc.stdint cimport uint32_t

from cbnet._kernels.pivot_match cimport State
from cbnet._kernels.pivot_view cimport View

cdef void walk_blocks(const View *view, State *states, uint32_t count) noexcept nogil
cdef void add_found(const View *view, State *state) noexcept nogil
cdef void forget_found(State *state) noexcept nogil
