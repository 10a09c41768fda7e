"""The right side of the counting index: from constraints that hold to filters and interfaces. `counting_view.pxd` draws it."""

from libc.stdint cimport uint32_t, uint64_t

from cbnet._kernels.counting_state cimport State

cdef void find_range(State *state, uint32_t first, uint32_t end) noexcept nogil
cdef void find_one(void *state, uint32_t constraint) noexcept nogil
cdef void count_found(State *state) noexcept nogil
cdef void complete(State *state, uint32_t filter, uint32_t target) noexcept nogil
cdef void deliver(State *state, uint32_t target) noexcept nogil
cdef void restore(State *state) noexcept nogil

cdef inline bint is_ignored(const uint64_t *ignored, uint32_t target) noexcept nogil:
    return (ignored[target >> 6] >> (target & 63)) & 1
