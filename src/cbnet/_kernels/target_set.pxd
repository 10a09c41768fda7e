"""The set of matched targets of one message, and the growing list of those of a batch."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef struct TargetSet:
    uint64_t *bits         # one per target
    uint64_t *summary      # one per word of bits: set if the word is not 0
    uint32_t total

cdef int open_targets(TargetSet *targets, uint32_t total) except -1
cdef void close_targets(TargetSet *targets) noexcept nogil

cdef inline bint has_target(const TargetSet *targets, uint32_t target) noexcept nogil:
    return (targets.bits[target >> 6] >> (target & 63)) & 1

cdef inline void add_target(TargetSet *targets, uint32_t target) noexcept nogil:
    """Add a target below `total`."""
    targets.bits[target >> 6] |= (<uint64_t> 1) << (target & 63)
    targets.summary[target >> 12] |= (<uint64_t> 1) << ((target >> 6) & 63)

cdef bint is_full(const TargetSet *targets) noexcept nogil

cdef struct Found:
    uint32_t *targets      # of all messages, in order
    int64_t used
    int64_t room

cdef int take_targets(TargetSet *targets, Found *found) noexcept nogil
cdef list labels_of(const uint32_t *targets, Py_ssize_t count, list labels)
