"""Opening, filling and searching sets of tags, and the targets of their owners, which are drawn in `tag_sets.pxd`."""

from cpython.mem cimport PyMem_RawRealloc

from cbnet._kernels.arrays cimport first_not_below, pointer
from cbnet._kernels.intrinsics cimport prefetch
from cbnet._kernels.target_set cimport add_target


cdef int open_groups(Groups *groups, dict arrays) except -1:
    """Set pointers to the groups of a table."""
    groups.count = <uint32_t> len(arrays["group_offsets"]) - 1
    groups.offsets = <const uint32_t *> pointer(arrays, "group_offsets", 4, 1)
    groups.targets = <const uint32_t *> pointer(arrays, "group_targets", 4, 0)
    groups.target_count = <uint32_t> len(arrays["group_targets"])
    return 0


cdef void add_group(const Groups *groups, uint32_t owner, TargetSet *targets) noexcept nogil:
    """Add the targets of a group to a set."""
    cdef uint32_t at, count
    cdef const uint32_t *owned = owned_by(groups, &owner, &count)
    for at in range(count):
        if owned[at] < targets.total:
            add_target(targets, owned[at])


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


cdef enum:
    # A bucket with more entries than this for each tag of the message is searched for every tag; a
    # smaller one is scanned, which takes a nanosecond per entry.
    SEARCHED = 16


cdef int open_sets(Sets *sets, dict arrays, uint32_t tags) except -1:
    """Set pointers to the arrays of sets; raise ValueError if they do not fit together."""
    cdef Py_ssize_t entries = len(arrays["set_owners"])
    sets.tags = tags
    sets.singles = <const uint32_t *> pointer(arrays, "set_singles", 4, tags)
    sets.buckets = <const uint32_t *> pointer(arrays, "set_buckets", 4, <Py_ssize_t> tags + 1)
    sets.seconds = <const uint32_t *> pointer(arrays, "set_seconds", 4, entries)
    sets.owners = <const uint32_t *> pointer(arrays, "set_owners", 4, entries)
    sets.rests = <const uint32_t *> pointer(arrays, "set_rests", 4, entries + 1)
    sets.entries = <uint32_t> entries
    sets.others = <const uint32_t *> pointer(arrays, "set_others", 4, 0)
    sets.other_count = <uint32_t> len(arrays["set_others"])
    return 0


cdef inline bint _has_rest(const Sets *sets, const uint64_t *present, uint32_t entry) noexcept nogil:
    """Return whether all but the two rarest tags of an entry are present."""
    cdef uint32_t at = sets.rests[entry]
    cdef uint32_t end = min(sets.rests[entry + 1], sets.other_count)
    while at < end and sets.others[at] < sets.tags and has_tag(present, sets.others[at]):
        at += 1
    return at >= end


cdef bint _read(const Sets *sets, const uint64_t *present, uint32_t entry, uint32_t end, Owners *found) noexcept nogil:
    """Check every entry of a bucket."""
    found.touched += end - entry
    for entry in range(entry, end):
        if sets.seconds[entry] < sets.tags and has_tag(present, sets.seconds[entry]):
            if _has_rest(sets, present, entry) and not append_owner(found, sets.owners[entry]):
                return False
    return True


cdef bint _search(const Sets *sets, const uint64_t *present, const uint32_t *tags, uint32_t count, uint32_t pivot,
                  uint32_t first, uint32_t end, Owners *found) noexcept nogil:
    """Check the entries of a bucket whose second tag is one of the message's."""
    cdef uint32_t i, entry
    for i in range(count):
        if tags[i] >= pivot:
            continue
        entry = first_not_below(sets.seconds, first, end, tags[i])
        while entry < end and sets.seconds[entry] == tags[i]:
            found.touched += 1
            if _has_rest(sets, present, entry) and not append_owner(found, sets.owners[entry]):
                return False
            entry += 1
    return True


cdef bint find_subsets(const Sets *sets, const uint64_t *present, const uint32_t *tags, uint32_t count, uint32_t least,
                       Owners *found) noexcept nogil:
    """Append the owners of the sets all of whose tags are present; return False if the search ended early.

    tags: the tags of the message, each once. Sets whose rarest tag is below `least` are left out.
    """
    cdef uint32_t i, tag, first, end
    for i in range(count):
        prefetch(sets.seconds + min(sets.buckets[tags[i]], sets.entries))
        prefetch(sets.singles + tags[i])
    for i in range(count):
        tag = tags[i]
        if tag < least:
            continue
        if sets.singles[tag] != NO_OWNER and not append_owner(found, sets.singles[tag]):
            return False
        end = min(sets.buckets[tag + 1], sets.entries)
        first = min(sets.buckets[tag], end)
        if end - first <= <uint64_t> SEARCHED * count:
            if not _read(sets, present, first, end, found):
                return False
        elif not _search(sets, present, tags, count, tag, first, end, found):
            return False
    return True


def fill_rests(const uint32_t[::1] tags, const int64_t[::1] offsets, const int64_t[::1] rows, uint32_t[::1] rests,
               uint32_t[::1] others):
    """Write all but the first two tags of some rows, in one array, and the offset of each row.

    tags, offsets: the rows. rests: uint32[len(rows) + 1]. others: as many as there are.
    """
    cdef Py_ssize_t i
    cdef int64_t at
    cdef uint32_t used = 0
    with nogil:
        for i in range(rows.shape[0]):
            rests[i] = used
            for at in range(offsets[rows[i]] + 2, offsets[rows[i] + 1]):
                others[used] = tags[at]
                used += 1
        rests[rows.shape[0]] = used
