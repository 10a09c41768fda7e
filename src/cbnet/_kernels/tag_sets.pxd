"""Sets of tags, each filed once, their owners, and the search for those that are subsets of a message's tags.

Tags are numbered, the commonest first, so the rarest tag of a set is the one with the highest number.
A set of one tag is stored in `singles`. Any other is an entry, filed under its rarest tag; the entries of
a tag are sorted by the second rarest.

    singles  │ o │ NONE │ o │ …          uint32[tags]: the owner of the set that is this tag alone
    buckets  0   0      0   2       3    uint32[tags + 1]: offsets of the entries filed under each tag
    seconds                 │ 0 1 │ 2 │  uint32[entries]: the second rarest tag
    owners                  │ o o │ o │  uint32[entries]
    rests                   0 0   1   3  uint32[entries + 1]: offsets of the other tags in `others`
    others                  │ 0 │ 1 0 │  uint32[…], the rarest first

The entries here are {2, 0}, {2, 1, 0} and {3, 2, 1, 0}. An owner is the targets of a set, as one number: below GROUP a
target, from GROUP on a group of targets.

    group_offsets  0     3 …      uint32[groups + 1]
    group_targets  │ t t t │ …    uint32[…], sorted in each group

Invariant: whatever the arrays contain, nothing outside them is read.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from cbnet._kernels.target_set cimport TargetSet, add_target

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

cdef inline const uint32_t *owned_by(const Groups *groups, const uint32_t *owner, uint32_t *count) noexcept nogil:
    """Return the targets of an owner, and their number."""
    cdef uint32_t group, end
    count[0] = 1
    if owner[0] < GROUP:
        return owner
    count[0] = 0
    group = owner[0] - GROUP
    if group < groups.count:
        end = min(groups.offsets[group + 1], groups.target_count)
        if groups.offsets[group] < end:
            count[0] = end - groups.offsets[group]
            return groups.targets + groups.offsets[group]
    return groups.targets

cdef void add_group(const Groups *groups, uint32_t owner, TargetSet *targets) noexcept nogil

cdef inline void add_owned(const Groups *groups, uint32_t owner, TargetSet *targets) noexcept nogil:
    """Add the targets of an owner to a set."""
    if owner >= GROUP:
        add_group(groups, owner, targets)
    elif owner < targets.total:
        add_target(targets, owner)

cdef bint append_owner(Owners *owners, uint32_t owner) noexcept nogil

cdef struct Sets:
    uint32_t tags
    const uint32_t *singles
    const uint32_t *buckets
    const uint32_t *seconds
    const uint32_t *owners
    const uint32_t *rests
    uint32_t entries
    const uint32_t *others
    uint32_t other_count

cdef int open_sets(Sets *sets, dict arrays, uint32_t tags) except -1
cdef bint find_subsets(const Sets *sets, const uint64_t *present, const uint32_t *tags, uint32_t count, uint32_t least,
                       Owners *found) noexcept nogil

cdef inline bint has_tag(const uint64_t *present, uint32_t tag) noexcept nogil:
    return (present[tag >> 6] >> (tag & 63)) & 1

cdef inline void set_tag(uint64_t *present, uint32_t tag) noexcept nogil:
    present[tag >> 6] |= (<uint64_t> 1) << (tag & 63)

cdef inline void clear_tag(uint64_t *present, uint32_t tag) noexcept nogil:
    present[tag >> 6] &= ~((<uint64_t> 1) << (tag & 63))
