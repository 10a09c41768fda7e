"""Covered filters: those that another filter of the same target makes redundant.

A filter f covers g if every word of f is implied by a word of g, so g has all symbols of f. Rows are
processed in the order of their number of symbols. For each, the survivors whose set of symbols is a subset
of its own are looked up, by a hash of target and symbols; a row that one of them covers is dropped, any
other joins the survivors.

    heads   hash of (target, symbols) ──► row ──► row ──► …      chains through `links`

Hash collisions cost time only: target and words are always compared.
A row with more than MOST symbols is compared with rows of one, two or all of its symbols.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from cbnet._kernels.byte_strings cimport has_pattern
from cbnet._kernels.constant_pool cimport text_at
from cbnet._kernels.cover_range cimport mixed
from cbnet._kernels.message_encoding cimport NULL_VALUE, NUMBER, STRING
from cbnet._kernels.test_codes cimport *
from cbnet._kernels.word_test cimport Constants, set_contains

cdef enum:
    MOST = 12
    ROOM = 256  # symbols of one row that are considered


cdef bint _text_relation(const Constants *constants, uint32_t test, uint32_t longer, uint32_t shorter) noexcept nogil:
    """Return whether the text `longer` begins with, ends with or contains the text `shorter`."""
    cdef uint32_t length, part_length
    cdef const char *text = text_at(&constants.strings.texts, longer, &length)
    cdef const char *part = text_at(&constants.strings.texts, shorter, &part_length)
    return has_pattern(test - PREFIX, text, length, part, part_length)


cdef bint _in_order(uint32_t narrow, uint32_t a, uint32_t wide, uint32_t b) noexcept nogil:
    """Return whether `x narrow a` implies `x wide b`; tests are numbered as those of numbers."""
    if narrow == NUMBER_EQ:
        if wide == NUMBER_EQ:
            return a == b
        if wide == NUMBER_NE:
            return a != b
        if wide == NUMBER_LT:
            return a < b
        if wide == NUMBER_LE:
            return a <= b
        return a > b if wide == NUMBER_GT else a >= b
    if narrow == NUMBER_NE or wide == NUMBER_EQ:
        return narrow == wide and a == b
    if narrow == NUMBER_LT or narrow == NUMBER_LE:
        if wide == NUMBER_LE or (wide == NUMBER_LT and narrow == NUMBER_LT):
            return a <= b
        if wide == NUMBER_NE:
            return a <= b if narrow == NUMBER_LT else a < b
        return wide == NUMBER_LT and a < b
    if wide == NUMBER_GE or (wide == NUMBER_GT and narrow == NUMBER_GT):
        return a >= b
    if wide == NUMBER_NE:
        return a >= b if narrow == NUMBER_GT else a > b
    return wide == NUMBER_GT and a > b


cdef bint _is_inside(const Constants *constants, uint32_t narrow, uint32_t wide) noexcept nogil:
    """Return whether all members of a set are members of another; both are sorted."""
    cdef uint32_t at = constants.set_offsets[wide]
    cdef uint32_t i
    for i in range(constants.set_offsets[narrow], constants.set_offsets[narrow + 1]):
        while at < constants.set_offsets[wide + 1] and constants.set_members[at] < constants.set_members[i]:
            at += 1
        if at == constants.set_offsets[wide + 1] or constants.set_members[at] != constants.set_members[i]:
            return False
    return True


cdef bint _implies_other(const Constants *constants, uint32_t had, uint32_t a, uint32_t asked, uint32_t b) noexcept nogil:
    """Return whether a test implies another; one of them is for null, a set or a condition."""
    if asked == NOT_NULL:
        return had != CONDITION and had != NULL_EQ and (had != IN or not set_contains(constants, a, <uint64_t> NULL_VALUE << 32))
    if asked != IN:
        return False
    if had == IN:
        return _is_inside(constants, a, b)
    if had == NULL_EQ:
        return set_contains(constants, b, <uint64_t> NULL_VALUE << 32)
    if had == BOOL_EQ:
        return set_contains(constants, b, a)
    if had == NUMBER_EQ:
        return set_contains(constants, b, <uint64_t> NUMBER << 32 | a)
    return had == STRING_EQ and set_contains(constants, b, <uint64_t> STRING << 32 | a)


cdef bint implies(const Constants *constants, uint64_t narrow, uint64_t wide) noexcept nogil:
    """Return whether every value that satisfies the word `narrow` satisfies `wide`; sound, for single words."""
    cdef uint32_t a = <uint32_t> narrow
    cdef uint32_t b = <uint32_t> wide
    cdef uint32_t had = (narrow >> 32) & 63
    cdef uint32_t asked = (wide >> 32) & 63
    if narrow == wide:
        return True
    if narrow >> 38 != wide >> 38 or had <= IS_TAG:
        return False
    if asked == EXISTS:
        return True
    if had > SUBSTRING or asked > SUBSTRING:
        return _implies_other(constants, had, a, asked, b)
    if had == BOOL_EQ or asked <= BOOL_EQ:
        return False
    if had <= NUMBER_GE:
        return asked <= NUMBER_GE and _in_order(had, a, asked, b)
    if asked <= NUMBER_GE:
        return False
    if had <= STRING_GE and asked <= STRING_GE:
        return _in_order(had - STRING_EQ + NUMBER_EQ, a, asked - STRING_EQ + NUMBER_EQ, b)
    if had == STRING_EQ:
        return _text_relation(constants, asked, a, b)
    if had <= STRING_GE:
        return False
    if asked == STRING_NE:  # the pattern excludes a text that does not contain it
        return not _text_relation(constants, had, b, a)
    if had == PREFIX:
        if asked == STRING_GE:
            return a >= b
        if asked == STRING_GT:
            return a > b
        if asked == STRING_LT or asked == STRING_LE:  # above the prefix, and does not begin with it
            return b > a and not _text_relation(constants, PREFIX, b, a)
        return (asked == PREFIX or asked == SUBSTRING) and _text_relation(constants, asked, a, b)
    if had == SUFFIX:
        return (asked == SUFFIX or asked == SUBSTRING) and _text_relation(constants, asked, a, b)
    return asked == SUBSTRING and _text_relation(constants, SUBSTRING, a, b)


cdef bint _covers(const Constants *constants, const uint64_t *wide, int64_t wide_count, const uint64_t *narrow, int64_t narrow_count) noexcept nogil:
    """Return whether each of the sorted wide words is implied by one of the sorted narrow words."""
    cdef int64_t i, j
    cdef int64_t first = 0
    for i in range(wide_count):
        while first < narrow_count and narrow[first] >> 38 < wide[i] >> 38:
            first += 1
        j = first
        while j < narrow_count and narrow[j] >> 38 == wide[i] >> 38 and not implies(constants, narrow[j], wide[i]):
            j += 1
        if j == narrow_count or narrow[j] >> 38 != wide[i] >> 38:
            return False
    return True


cdef struct Search:
    const uint64_t *words
    const int64_t *offsets
    const uint32_t *targets
    Constants constants
    uint32_t *heads        # row + 1 of the first survivor with a hash; 0: none
    uint32_t *links        # per row: the next survivor + 1
    uint64_t slot_mask


cdef int64_t _coverer(const Search *search, uint64_t key, int64_t row) noexcept nogil:
    """Return a survivor under a key that covers a row, or -1."""
    cdef uint32_t at = search.heads[(key ^ (key >> 32)) & search.slot_mask]
    cdef const int64_t *offsets = search.offsets
    while at:
        at -= 1
        if search.targets[at] == search.targets[row] and _covers(
                   &search.constants, search.words + offsets[at], offsets[at + 1] - offsets[at],
                   search.words + offsets[row], offsets[row + 1] - offsets[row]):
            return at
        at = search.links[at]
    return -1


cdef int64_t _find(const Search *search, uint64_t base, const uint64_t *symbols, uint32_t count, int64_t row) noexcept nogil:
    """Return a survivor that covers a row, searching all subsets of its symbols."""
    cdef uint64_t key
    cdef uint32_t subset, bit, i, j
    cdef int64_t found
    if count <= MOST:
        key = base
        for subset in range(1 << count):  # in Gray code, so that one symbol changes at a time
            if subset:
                bit = 0
                while not (subset >> bit) & 1:
                    bit += 1
                if ((subset ^ (subset >> 1)) >> bit) & 1:
                    key += symbols[bit]
                else:
                    key -= symbols[bit]
            found = _coverer(search, key, row)
            if found >= 0:
                return found
        return -1
    key = base
    for i in range(count):
        key += symbols[i]
    found = _coverer(search, key, row)
    if found < 0:
        found = _coverer(search, base, row)
    for i in range(count):
        if found < 0:
            found = _coverer(search, base + symbols[i], row)
        for j in range(i):
            if found < 0:
                found = _coverer(search, base + symbols[i] + symbols[j], row)
    return found


cdef void _join(const Search *search, uint64_t key, int64_t row, int64_t *covered_by) noexcept nogil:
    """Add a survivor, and drop those with the same symbols that it covers."""
    cdef uint32_t *place = &search.heads[(key ^ (key >> 32)) & search.slot_mask]
    cdef const int64_t *offsets = search.offsets
    cdef uint32_t at
    search.links[row] = place[0]
    place[0] = <uint32_t> row + 1
    place = &search.links[row]
    while place[0]:
        at = place[0] - 1
        if search.targets[at] == search.targets[row] and _covers(
                   &search.constants, search.words + offsets[row], offsets[row + 1] - offsets[row],
                   search.words + offsets[at], offsets[at + 1] - offsets[at]):
            covered_by[at] = row
            place[0] = search.links[at]
        else:
            place = &search.links[at]


def find_covered(const uint64_t[::1] words, const int64_t[::1] offsets, const uint32_t[::1] targets,
                 const int64_t[::1] order, const uint8_t[::1] text_data, const uint32_t[::1] text_offsets,
                 const uint64_t[::1] set_members, const uint32_t[::1] set_offsets, int64_t[::1] covered_by):
    """Write for each row the row that covers it, or -1: int64[rows].

    words: uint64, sorted in each row. order: the rows by rising number of symbols. A condition covers only itself.
    """
    cdef Search search
    cdef uint64_t symbols[ROOM]
    cdef uint64_t base, key, last
    cdef uint32_t count, i
    cdef int64_t row, at, found
    cdef Py_ssize_t place
    cdef uint64_t slots = 1
    while slots < <uint64_t> order.shape[0] * 2:
        slots *= 2
    search.words = &words[0] if words.shape[0] else NULL
    search.offsets = &offsets[0]
    search.targets = &targets[0] if targets.shape[0] else NULL
    search.constants.strings.texts.data = &text_data[0] if text_data.shape[0] else <const uint8_t *> b""
    search.constants.strings.texts.bytes = <uint32_t> text_data.shape[0]
    search.constants.strings.texts.offsets = &text_offsets[0]
    search.constants.strings.texts.count = <uint32_t> (text_offsets.shape[0] - 1)
    search.constants.set_members = &set_members[0] if set_members.shape[0] else NULL
    search.constants.set_offsets = &set_offsets[0]
    search.constants.set_count = <uint32_t> (set_offsets.shape[0] - 1)
    search.constants.set_total = <uint32_t> set_members.shape[0]
    search.slot_mask = slots - 1
    search.heads = <uint32_t *> PyMem_RawCalloc(slots, sizeof(uint32_t))
    search.links = <uint32_t *> PyMem_RawCalloc(targets.shape[0] + 1, sizeof(uint32_t))
    if search.heads == NULL or search.links == NULL:
        PyMem_RawFree(search.heads)
        PyMem_RawFree(search.links)
        raise MemoryError
    with nogil:
        for place in range(order.shape[0]):
            row = order[place]
            base = mixed(~<uint64_t> targets[row])
            count = 0
            last = 0
            for at in range(offsets[row], offsets[row + 1]):
                if (at == offsets[row] or words[at] >> 38 != last) and count < ROOM:
                    last = words[at] >> 38
                    symbols[count] = mixed(last)
                    count += 1
            found = _find(&search, base, symbols, count, row)
            covered_by[row] = found
            if found < 0:
                key = base
                for i in range(count):
                    key += symbols[i]
                _join(&search, key, row, &covered_by[0])
    PyMem_RawFree(search.heads)
    PyMem_RawFree(search.links)
