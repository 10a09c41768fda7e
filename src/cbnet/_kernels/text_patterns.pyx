"""Search for the prefixes, suffixes and substrings of a text; `text_patterns.pxd` draws the arrays."""

from cpython.mem cimport PyMem_RawFree

from cbnet._kernels.arrays cimport pointer
from cbnet._kernels.constant_pool cimport (
    Texts, begins, close_pool, filter_bit, last_not_above, open_directory, text_at,
)
from cbnet._kernels.memory cimport enlarge, resized
from cbnet._kernels.test_codes cimport *

cdef enum:
    SEEN_ROOM = 64
    FEW_BYTES = 1 << 18        # of constants whose hits are listed
    LONGEST = 1 << 10          # constant
    MOST_HITS = 16             # per constant, on average
    ALL_TESTS = 1 << PREFIX | 1 << SUFFIX | 1 << SUBSTRING


cdef int _open_pool(Pool *pool, const Texts *texts, dict arrays, str name, bint is_reversed) except -1:
    cdef Py_ssize_t count = len(arrays[f"{name}_ids"])
    pool.texts = texts[0]
    pool.count = <uint32_t> count
    pool.is_reversed = is_reversed
    pool.ids = <const uint32_t *> pointer(arrays, f"{name}_ids", 4, count)
    pool.keys = <const uint64_t *> pointer(arrays, f"{name}_keys", 8, count)
    pool.parents = <const uint32_t *> pointer(arrays, f"{name}_parents", 4, count)
    return open_directory(pool)


cdef int open_patterns(Patterns *patterns, const Pool *strings, dict arrays) except -1:
    """Set pointers to the pools of a table; list the hits of its constants if they are few."""
    _open_pool(&patterns.prefixes, &strings.texts, arrays, "prefix", False)
    _open_pool(&patterns.suffixes, &strings.texts, arrays, "suffix", True)
    _open_pool(&patterns.substrings, &strings.texts, arrays, "substring", False)
    patterns.substring_filter = <const uint8_t *> pointer(arrays, "substring_filter", 1, 8193)
    if strings.directory.slots != NULL and strings.texts.bytes <= FEW_BYTES and not _list_hits(patterns, strings):
        _forget_hits(patterns)
    return 0


cdef bint _list_hits(Patterns *patterns, const Pool *strings) except -1:
    """List the hits of all constants; return False if they are too many."""
    cdef uint32_t place, length
    cdef const char *text
    patterns.hit_offsets = <uint32_t *> resized(NULL, (<size_t> strings.count + 1) * sizeof(uint32_t))
    for place in range(strings.count):
        patterns.hit_offsets[place] = patterns.hits.count
        text = text_at(&strings.texts, place, &length)
        if length > LONGEST or patterns.hits.count > MOST_HITS * (strings.count + SEEN_ROOM):
            return False
        if not find_patterns(patterns, text, length, ALL_TESTS, &patterns.hits):
            raise MemoryError
    patterns.hit_offsets[strings.count] = patterns.hits.count
    return True


cdef void close_patterns(Patterns *patterns) noexcept:
    close_pool(&patterns.prefixes)
    close_pool(&patterns.suffixes)
    close_pool(&patterns.substrings)
    _forget_hits(patterns)


cdef void _forget_hits(Patterns *patterns) noexcept:
    PyMem_RawFree(patterns.hit_offsets)
    PyMem_RawFree(patterns.hits.items)
    patterns.hit_offsets = NULL
    patterns.hits.items = NULL
    patterns.hits.count = patterns.hits.room = 0


cdef bint find_patterns(const Patterns *patterns, const char *text, uint32_t length, uint32_t tests, Hits *hits) noexcept nogil:
    """Append the patterns that a text has, of the tests that are set as bits; return False if out of memory."""
    cdef bint ok = True
    if tests & (1 << PREFIX):
        ok = _find_prefixes(&patterns.prefixes, text, length, PREFIX, hits)
    if tests & (1 << SUFFIX):
        ok = ok and _find_prefixes(&patterns.suffixes, text, length, SUFFIX, hits)
    if tests & (1 << SUBSTRING):
        ok = ok and _find_substrings(patterns, text, length, hits)
    return ok


cdef bint _append(Hits *hits, uint32_t test, uint32_t number) noexcept nogil:
    if hits.count == hits.room and not enlarge(<void **> &hits.items, &hits.room, sizeof(uint64_t)):
        return False
    hits.items[hits.count] = <uint64_t> test << 32 | number
    hits.count += 1
    return True


cdef bint _find_prefixes(const Pool *pool, const char *text, uint32_t length, uint32_t test, Hits *hits) noexcept nogil:
    """Find every member of the pool that the text begins (or ends) with."""
    cdef uint32_t place = last_not_above(pool, text, length)
    cdef uint32_t parent
    while place:
        if begins(pool, place - 1, text, length) and not _append(hits, test, pool.ids[place - 1]):
            return False
        parent = pool.parents[place - 1]
        place = parent if parent < place else 0  # always decreases, so the loop ends even with a damaged file
    return True


cdef bint _find_substrings(const Patterns *patterns, const char *text, uint32_t length, Hits *hits) noexcept nogil:
    """Find every member of the pool of substrings that the text contains, each once."""
    cdef const Pool *pool = &patterns.substrings
    cdef uint32_t seen[SEEN_ROOM]
    cdef uint32_t seen_count = 0
    cdef uint32_t at, place, parent, i, bit
    cdef uint32_t width = patterns.substring_filter[8192]
    for at in range(length + 1):
        if 0 < width <= 3:
            if at + width > length:
                break
            bit = filter_bit(text + at, width)
            if not (patterns.substring_filter[bit >> 3] >> (bit & 7)) & 1:
                continue
        place = last_not_above(pool, text + at, length - at)
        while place:
            if begins(pool, place - 1, text + at, length - at):
                i = 0
                while i < seen_count and seen[i] != place:
                    i += 1
                if i == seen_count:
                    if not _append(hits, SUBSTRING, pool.ids[place - 1]):
                        return False
                    if seen_count < SEEN_ROOM:  # beyond, a repetition costs time but changes nothing
                        seen[seen_count] = place
                        seen_count += 1
            parent = pool.parents[place - 1]
            place = parent if parent < place else 0
    return True
