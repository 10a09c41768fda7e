"""Groups of targets, lists of owners, and the targets of an owner; `tag_owners.pxd` draws them."""

from cpython.mem cimport PyMem_RawRealloc

from cbnet._kernels.arrays cimport pointer
from cbnet._kernels.target_set cimport add_target


cdef int open_groups(Groups *groups, dict arrays) except -1:
    """Set pointers to the groups of a table."""
    groups.count = <uint32_t> len(arrays["group_offsets"]) - 1
    groups.offsets = <const uint32_t *> pointer(arrays, "group_offsets", 4, 1)
    groups.targets = <const uint32_t *> pointer(arrays, "group_targets", 4, 0)
    groups.target_count = <uint32_t> len(arrays["group_targets"])
    return 0


cdef inline uint32_t _members(const Groups *groups, uint32_t owner, uint32_t *first) noexcept nogil:
    """Return the number of targets of a group, and their offset."""
    cdef uint32_t end
    owner -= GROUP
    if owner >= groups.count:
        return 0
    end = min(groups.offsets[owner + 1], groups.target_count)
    first[0] = min(groups.offsets[owner], end)
    return end - first[0]


cdef uint32_t owned_count(const Groups *groups, uint32_t owner) noexcept nogil:
    """Return the number of targets of an owner."""
    cdef uint32_t first
    return 1 if owner < GROUP else _members(groups, owner, &first)


cdef void add_owned(const Groups *groups, uint32_t owner, TargetSet *targets) noexcept nogil:
    """Add the targets of an owner to a set."""
    cdef uint32_t at, end, first
    if owner < GROUP:
        if owner < targets.total:
            add_target(targets, owner)
        return
    end = _members(groups, owner, &first)
    for at in range(first, first + end):
        if groups.targets[at] < targets.total:
            add_target(targets, groups.targets[at])


cdef bint append_owner(Owners *owners, uint32_t owner) noexcept nogil:
    """Append an owner; return whether to continue. False with fewer than `most`: out of memory."""
    cdef void *larger
    if owners.used == owners.room:
        larger = PyMem_RawRealloc(owners.items, (2 * owners.room + 64) * sizeof(uint32_t))
        if larger == NULL:
            return False
        owners.items = <uint32_t *> larger
        owners.room = 2 * owners.room + 64
    owners.items[owners.used] = owner
    owners.used += 1
    return owners.used < owners.most
