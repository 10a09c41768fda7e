"""Building the pivot index: the loops over every constraint and every filter."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from cbnet._kernels.pivot_view cimport FREE, MIX, NAME_OF_WORD, Entry, is_equality, mark_of

cdef enum:
    ORDERED = 32  # longer rows are not ordered: it would take longer than it saves


def hash_rows(const uint64_t[::1] words, const int64_t[::1] offsets, uint64_t[::1] hashes):
    """Write a hash of each row of words: uint64[rows]."""
    cdef Py_ssize_t row
    cdef int64_t at
    cdef uint64_t state
    with nogil:
        for row in range(hashes.shape[0]):
            state = MIX
            for at in range(offsets[row], offsets[row + 1]):
                state = (state ^ words[at]) * MIX
                state ^= state >> 31
            hashes[row] = state


def mark_repeated(const uint64_t[::1] words, const int64_t[::1] offsets, const int64_t[::1] order, uint8_t[::1] repeated):
    """Set repeated[i] where row order[i] is the same as row order[i - 1]: uint8[rows]."""
    cdef Py_ssize_t i
    cdef int64_t length, row, last
    with nogil:
        for i in range(1, order.shape[0]):
            row, last = order[i], order[i - 1]
            length = offsets[row + 1] - offsets[row]
            repeated[i] = offsets[last + 1] - offsets[last] == length and (
                length == 0 or memcmp(&words[offsets[row]], &words[offsets[last]], length * sizeof(uint64_t)) == 0
            )


def choose_pivots(const uint64_t[::1] words, const float[::1] costs, const int64_t[::1] offsets,
                  const int64_t[::1] rows, int64_t[::1] pivots, uint8_t[::1] marks):
    """Write the index of the cheapest word of each row of two words or more, and the mark of its other words."""
    cdef Py_ssize_t i
    cdef int64_t at, best, second
    with nogil:
        for i in range(rows.shape[0]):
            best = offsets[rows[i]]
            for at in range(best + 1, offsets[rows[i] + 1]):
                if costs[at] < costs[best]:
                    best = at
            pivots[i] = best
            second = -1
            for at in range(offsets[rows[i]], offsets[rows[i] + 1]):
                if at != best and (second < 0 or _is_rarer(words, costs, at, second)):
                    second = at
            marks[i] = mark_of(words[second] if is_equality(words[second]) else words[second] & NAME_OF_WORD)


cdef inline bint _is_rarer(const uint64_t[::1] words, const float[::1] costs, int64_t at, int64_t than) noexcept nogil:
    """Return whether a word excludes more than another by its mark: equalities first, the least likely first."""
    cdef bint is_first = is_equality(words[at])
    return is_first if is_first != is_equality(words[than]) else costs[at] < costs[than]


def place_keys(const uint64_t[::1] words, uint64_t[::1] keys, int64_t[::1] slots):
    """Insert distinct words into free `keys`, uint64, a power of two; write the slot of each."""
    cdef uint64_t mask = <uint64_t> keys.shape[0] - 1
    cdef uint64_t slot
    cdef Py_ssize_t i
    with nogil:
        for i in range(words.shape[0]):
            slot = ((words[i] * MIX) >> 32) & mask
            while keys[slot] != FREE:
                slot = (slot + 1) & mask
            keys[slot] = words[i]
            slots[i] = slot


def fill_entries(const uint64_t[::1] words, const float[::1] costs, const int64_t[::1] offsets, const int64_t[::1] rows,
                 const int64_t[::1] pivots, const uint32_t[::1] targets, Entry[::1] entries, uint64_t[::1] tests,
                 int64_t used):
    """Write an entry for each row, and its words except the pivot, least likely first; return the end of the tests.

    rows, pivots, targets: in the order of the entries. tests: uint64, written from `used` on.
    """
    cdef Py_ssize_t i
    cdef int64_t at, to, first
    cdef uint64_t mask
    with nogil:
        for i in range(rows.shape[0]):
            mask = 0
            first = used
            for at in range(offsets[rows[i]], offsets[rows[i] + 1]):
                if at == pivots[i]:
                    continue
                mask |= (<uint64_t> 1) << ((words[at] >> 38) & 63)
                to = used
                while first < to and used - first < ORDERED and _cost(words, costs, offsets, rows[i], tests[to - 1]) > costs[at]:
                    tests[to] = tests[to - 1]
                    to -= 1
                tests[to] = words[at]
                used += 1
            entries[i].mask = mask
            entries[i].tests = <uint32_t> first
            entries[i].target = targets[i]
        entries[rows.shape[0]].mask = 0
        entries[rows.shape[0]].tests = <uint32_t> used
        entries[rows.shape[0]].target = 0
    return used


cdef inline float _cost(const uint64_t[::1] words, const float[::1] costs, const int64_t[::1] offsets, int64_t row, uint64_t word) noexcept nogil:
    """Return the cost of a word of a row."""
    cdef int64_t at = offsets[row]
    while words[at] != word:
        at += 1
    return costs[at]
