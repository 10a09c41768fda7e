"""Pools of sorted constants, and the rank of a value among them.

Ranks are doubled, so that one number gives both the rank and whether the value is a constant:

    constants        10      20      30
    doubled rank   0  1   2   3   4   5  6         25 has rank 4, 20 itself 3

A pool of strings is searched by their first eight bytes, read as a big-endian number; the text is compared
only if those are equal. A reversed pool is sorted by the reversed strings.

To find the members of a pool that a text begins with: if p is a prefix of the text, then the last member
not above the text begins with p too, so p is that member or one of its `parents`, each the longest member
that is a proper prefix of the one before.
"""

from libc.string cimport memcmp, memcpy

from cbnet._kernels.arrays cimport pointer

cdef extern from * nogil:
    unsigned long long __builtin_bswap64(unsigned long long word)


cdef int open_numbers(Numbers *numbers, dict arrays) except -1:
    """Set a pointer to the numbers of a table."""
    numbers.count = <uint32_t> len(arrays["number_high"])
    numbers.high = <const double *> pointer(arrays, "number_high", 8, 0)
    numbers.low = <const int16_t *> pointer(arrays, "number_low", 2, numbers.count)
    return 0


cdef int open_texts(Texts *texts, dict arrays, str name) except -1:
    """Set a pointer to the texts `name` of a table."""
    texts.data = <const uint8_t *> pointer(arrays, f"{name}_data", 1, 0)
    texts.bytes = <uint32_t> len(arrays[f"{name}_data"])
    texts.offsets = <const uint32_t *> pointer(arrays, f"{name}_offsets", 4, 1)
    texts.count = <uint32_t> (len(arrays[f"{name}_offsets"]) - 1)
    return 0


cdef uint32_t number_place(const Numbers *numbers, double high, int16_t low) noexcept nogil:
    """Return the doubled rank of a number."""
    cdef uint32_t first = 0
    cdef uint32_t count = numbers.count
    cdef uint32_t half
    cdef bint below
    while count > 0:  # the first number that is not below
        half = count >> 1
        below = numbers.high[first + half] < high or (
            numbers.high[first + half] == high and numbers.low[first + half] < low
        )
        first += (half + 1) * below
        count = count - half - 1 if below else half
    if first < numbers.count and numbers.high[first] == high and numbers.low[first] == low:
        return 2 * first + 1
    return 2 * first


cdef inline uint64_t _key(const char *text, uint32_t length, bint is_reversed) noexcept nogil:
    """Return the first eight bytes (from the end, if reversed) as a number that orders them."""
    cdef uint64_t key = 0
    cdef uint32_t at
    if not is_reversed:
        memcpy(&key, text, length if length < 8 else 8)
        return __builtin_bswap64(key)
    for at in range(8):
        key <<= 8
        if at < length:
            key |= <uint8_t> text[length - 1 - at]
    return key


cdef inline int _compare(const char *left, uint32_t left_length, const char *right, uint32_t right_length, bint is_reversed) noexcept nogil:
    cdef uint32_t shorter = left_length if left_length < right_length else right_length
    cdef uint32_t at
    cdef int difference
    if not is_reversed:
        difference = memcmp(left, right, shorter)
        if difference:
            return difference
    else:
        for at in range(1, shorter + 1):
            difference = <int> <uint8_t> left[left_length - at] - <int> <uint8_t> right[right_length - at]
            if difference:
                return difference
    return (left_length > right_length) - (left_length < right_length)


cdef const char *text_at(const Texts *texts, uint32_t place, uint32_t *length) noexcept nogil:
    """Return a text; an empty one if a damaged file refers outside the data."""
    cdef uint32_t start, end
    length[0] = 0
    if place >= texts.count:
        return <const char *> texts.data
    start, end = texts.offsets[place], texts.offsets[place + 1]
    if start > end or end > texts.bytes:
        return <const char *> texts.data
    length[0] = end - start
    return <const char *> texts.data + start


cdef inline uint32_t member_id(const Pool *pool, uint32_t place) noexcept nogil:
    return place if pool.ids == NULL else pool.ids[place]


cdef uint32_t _first_not_below(const Pool *pool, const char *text, uint32_t length, bint *is_equal) noexcept nogil:
    cdef uint64_t key = _key(text, length, pool.is_reversed)
    cdef uint32_t first = 0
    cdef uint32_t count = pool.count
    cdef uint32_t half, other_length
    cdef const char *other
    cdef int difference
    is_equal[0] = False
    while count > 0:
        half = count >> 1
        if pool.keys[first + half] != key:
            difference = -1 if pool.keys[first + half] < key else 1
        else:
            other = text_at(&pool.texts, member_id(pool, first + half), &other_length)
            difference = _compare(other, other_length, text, length, pool.is_reversed)
            if difference == 0:
                is_equal[0] = True
                return first + half
        if difference < 0:
            first += half + 1
            count -= half + 1
        else:
            count = half
    return first


cdef uint32_t text_place(const Pool *pool, const char *text, uint32_t length) noexcept nogil:
    """Return the doubled rank of a text."""
    cdef bint is_equal
    cdef uint32_t first = _first_not_below(pool, text, length, &is_equal)
    return 2 * first + is_equal


cdef uint32_t last_not_above(const Pool *pool, const char *text, uint32_t length) noexcept nogil:
    """Return the index + 1 of the last member that is not above a text; 0 if there is none."""
    cdef bint is_equal
    cdef uint32_t first = _first_not_below(pool, text, length, &is_equal)
    return first + is_equal


cdef bint begins(const Pool *pool, uint32_t place, const char *text, uint32_t length) noexcept nogil:
    """Return whether the text begins (ends, if the pool is reversed) with a member."""
    cdef uint32_t member_length
    cdef const char *member
    if place >= pool.count:
        return False
    member = text_at(&pool.texts, member_id(pool, place), &member_length)
    if member_length > length:
        return False
    if pool.is_reversed:
        text += length - member_length
    return memcmp(member, text, member_length) == 0


def fill_pool(const uint8_t[::1] data, const uint32_t[::1] offsets, const uint32_t[::1] ids, bint is_reversed,
              uint64_t[::1] keys, uint32_t[::1] parents):
    """Write the keys and parents of the sorted members `ids`: uint64[n] and uint32[n] (or uint32[0])."""
    cdef Pool pool
    cdef Py_ssize_t place
    cdef uint32_t above, length
    cdef const char *text
    pool.texts.data = &data[0] if data.shape[0] else <const uint8_t *> b""
    pool.texts.bytes = <uint32_t> data.shape[0]
    pool.texts.offsets = &offsets[0]
    pool.texts.count = <uint32_t> (offsets.shape[0] - 1)
    pool.ids = &ids[0] if ids.shape[0] else NULL
    pool.count = <uint32_t> ids.shape[0]
    pool.is_reversed = is_reversed
    with nogil:
        for place in range(ids.shape[0]):
            text = text_at(&pool.texts, ids[place], &length)
            keys[place] = _key(text, length, is_reversed)
            if parents.shape[0]:
                above = <uint32_t> place  # the member before, or one of its parents, is the parent
                while above and not begins(&pool, above - 1, text, length):
                    above = parents[above - 1]
                parents[place] = above


def fill_filter(const uint8_t[::1] data, const uint32_t[::1] offsets, const uint32_t[::1] ids, uint8_t[::1] bits):
    """Set a bit for the first bytes of each member, in uint8[8193]; the last byte is their number.

    At most three bytes, and no more than the shortest member has: a text that contains a member has
    these bytes somewhere, and the bits of most positions of most texts are not set.
    """
    cdef Py_ssize_t place
    cdef uint32_t start, length
    cdef uint32_t width = 3
    for place in range(ids.shape[0]):
        length = offsets[ids[place] + 1] - offsets[ids[place]]
        width = min(width, length)
    for place in range(ids.shape[0]):
        start = offsets[ids[place]]
        if width:
            length = filter_bit(<const char *> &data[start], width)
            bits[length >> 3] |= 1 << (length & 7)
    bits[8192] = width
