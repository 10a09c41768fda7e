"""Minimal sets: those of many sets of tags that contain no other of them.

Sets are rows of tag numbers, the rarest tag first, in descending order: the commonest tag is 0.

    tags     │ 7 3 │ 9 │ 9 7 3 │ …        uint32[…]
    offsets  0     2   3       6 …        int64[n + 1]

Most sets contain a tag that is a set by itself, which one check per tag shows. Of the others, each distinct
one is filed in `tag_sets`, and the filed sets that it contains are searched: itself, or more.
"""

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from cbnet._kernels.byte_strings cimport MIX
from cbnet._kernels.memory cimport zeroed
from cbnet._kernels.tag_sets cimport Owners, Sets, clear_tag, find_subsets, open_sets, set_tag


def find_singles(const uint32_t[::1] tags, const int64_t[::1] offsets, int64_t[::1] singles):
    """Write for each tag the first row that is this tag alone, where there is one: int64[tags]."""
    cdef Py_ssize_t row
    with nogil:
        for row in range(offsets.shape[0] - 2, -1, -1):
            if offsets[row + 1] - offsets[row] == 1:
                singles[tags[offsets[row]]] = row


def without_singles(const uint32_t[::1] tags, const int64_t[::1] offsets, const uint8_t[::1] is_single, int64_t[::1] rows):
    """Write the rows none of whose tags is a set by itself; return their number."""
    cdef Py_ssize_t row
    cdef Py_ssize_t count = 0
    cdef int64_t at
    with nogil:
        for row in range(offsets.shape[0] - 1):
            at = offsets[row]
            while at < offsets[row + 1] and not is_single[tags[at]]:
                at += 1
            if at == offsets[row + 1]:
                rows[count] = row
                count += 1
    return count


def distinct_sets(const uint32_t[::1] tags, const int64_t[::1] offsets, int64_t[::1] rows, uint32_t[::1] slots):
    """Keep the first of equal rows, in place; return how many are kept.

    slots: zeros, a power of two greater than the number of rows; index + 1 of the kept row with a hash.
    """
    cdef uint64_t mask = <uint64_t> slots.shape[0] - 1
    cdef uint64_t hash
    cdef Py_ssize_t i, length
    cdef Py_ssize_t count = 0
    cdef int64_t at, other
    with nogil:
        for i in range(rows.shape[0]):
            length = offsets[rows[i] + 1] - offsets[rows[i]]
            hash = MIX
            for at in range(offsets[rows[i]], offsets[rows[i] + 1]):
                hash = (hash ^ tags[at]) * MIX
                hash ^= hash >> 31
            hash &= mask
            while slots[hash]:
                other = rows[slots[hash] - 1]
                if offsets[other + 1] - offsets[other] == length and memcmp(
                        &tags[offsets[other]], &tags[offsets[rows[i]]], length * sizeof(uint32_t)) == 0:
                    break
                hash = (hash + 1) & mask
            if slots[hash] == 0:
                rows[count] = rows[i]
                count += 1
                slots[hash] = <uint32_t> count
    return count


def mark_minimal(dict arrays, const uint32_t[::1] tags, const int64_t[::1] offsets, const int64_t[::1] rows, uint8_t[::1] minimal):
    """Write which of some distinct rows, all filed in the sets of `arrays`, contain no other of them: uint8[len(rows)]."""
    cdef Sets sets
    cdef Owners found
    cdef uint32_t several[2]
    cdef uint64_t *present
    cdef Py_ssize_t i
    cdef int64_t at, first, end
    open_sets(&sets, arrays, <uint32_t> len(arrays["set_singles"]))
    found.items = several
    found.room = found.most = 2
    found.touched = 0
    present = <uint64_t *> zeroed((<size_t> sets.tags >> 6) + 1, sizeof(uint64_t))
    with nogil:
        for i in range(rows.shape[0]):
            first, end = offsets[rows[i]], offsets[rows[i] + 1]
            for at in range(first, end):
                set_tag(present, tags[at])
            found.used = 0
            find_subsets(&sets, present, &tags[first], <uint32_t> (end - first), 0, &found)
            minimal[i] = found.used == 1
            for at in range(first, end):
                clear_tag(present, tags[at])
    PyMem_RawFree(present)
    return found.touched
