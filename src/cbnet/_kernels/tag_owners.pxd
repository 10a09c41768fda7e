"""Owners: the targets of a set of tags, as one number.

Below GROUP an owner is a target, from GROUP on a group of targets.

    group_offsets  0     3 …      uint32[groups + 1]
    group_targets  │ t t t │ …    uint32[…], sorted in each group
"""

from libc.stdint cimport int64_t, uint32_t

from cbnet._kernels.target_set cimport TargetSet

cdef extern from *:
    """
    #define GROUP 0x80000000U
    #define NO_OWNER 0xFFFFFFFFU
    """
    const uint32_t GROUP
    const uint32_t NO_OWNER

cdef struct Groups:
    const uint32_t *offsets
    const uint32_t *targets
    uint32_t count
    uint32_t target_count

cdef struct Owners:
    uint32_t *items        # of all messages, in order
    int64_t used
    int64_t room
    int64_t most           # limit: no more are needed
    int64_t touched        # entries read

cdef int open_groups(Groups *groups, dict arrays) except -1
cdef uint32_t owned_count(const Groups *groups, uint32_t owner) noexcept nogil
cdef void add_owned(const Groups *groups, uint32_t owner, TargetSet *targets) noexcept nogil
cdef bint append_owner(Owners *owners, uint32_t owner) noexcept nogil
