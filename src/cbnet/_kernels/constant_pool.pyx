"""Pools of sorted constants, and the rank of a value among them.

Ranks are doubled, so that one number gives both the rank and whether the value is a constant:

    constants        10      20      30
    doubled rank   0  1   2   3   4   5  6         25 has rank 4, 20 itself 3

A pool of strings is searched by their first eight bytes, read as a big-endian number, the key; the text is compared
only if those are equal. A reversed pool is sorted by the reversed strings.

A directory divides the range of keys (or numbers) into equal parts, a few per constant, and stores the start of each:
most searches end after one or two comparisons. It is built when a table is opened, and belongs to its index.

    parts    │ a… │ b… │ c… │ …
    starts   0    3    3    7 …      the constants of part i are starts[i] to starts[i + 1]

A pool of few texts also has a hash table with their first bytes, so that a text that is a constant is found at once.

To find the members of a pool that a text begins with: if p is a prefix of the text, then the last member
not above the text begins with p too, so p is that member or one of its `parents`, each the longest member
that is a proper prefix of the one before.
"""

from cpython.mem cimport PyMem_RawFree
from libc.math cimport isfinite
from libc.string cimport memcmp

from cbnet._kernels.arrays cimport pointer
from cbnet._kernels.byte_strings cimport equal_bytes, first_bytes, hash_bytes
from cbnet._kernels.intrinsics cimport leading_zeros
from cbnet._kernels.memory cimport resized, zeroed

cdef enum:
    PARTS_PER_CONSTANT = 8
    MOST_PARTS = 1 << 16
    FEW_TEXTS = 1 << 16


cdef int open_numbers(Numbers *numbers, dict arrays) except -1:
    """Set a pointer to the numbers of a table."""
    numbers.count = <uint32_t> len(arrays["number_high"])
    numbers.high = <const double *> pointer(arrays, "number_high", 8, 0)
    numbers.low = <const int16_t *> pointer(arrays, "number_low", 2, numbers.count)
    return _open_number_directory(numbers)


cdef void close_numbers(Numbers *numbers) noexcept:
    PyMem_RawFree(numbers.directory.starts)
    numbers.directory.starts = NULL


cdef void close_pool(Pool *pool) noexcept:
    PyMem_RawFree(pool.directory.starts)
    PyMem_RawFree(pool.directory.slots)
    pool.directory.starts = NULL
    pool.directory.slots = NULL


cdef int open_texts(Texts *texts, dict arrays, str name) except -1:
    """Set a pointer to the texts `name` of a table."""
    texts.data = <const uint8_t *> pointer(arrays, f"{name}_data", 1, 0)
    texts.bytes = <uint32_t> len(arrays[f"{name}_data"])
    texts.offsets = <const uint32_t *> pointer(arrays, f"{name}_offsets", 4, 1)
    texts.count = <uint32_t> (len(arrays[f"{name}_offsets"]) - 1)
    return 0


# --- Directories

cdef int _reserve_parts(Directory *directory, uint32_t constants) except -1:
    """Make room for a few parts per constant, a power of two."""
    directory.count = 1
    while directory.count < MOST_PARTS and directory.count < PARTS_PER_CONSTANT * <uint64_t> constants:
        directory.count *= 2
    directory.starts = <uint32_t *> resized(directory.starts, (<size_t> directory.count + 1) * sizeof(uint32_t))
    directory.starts[0] = 0
    directory.starts[directory.count] = constants
    return 0


cdef int open_directory(Pool *pool) except -1:
    """Make the directory of a pool; none if it has few members."""
    cdef Directory *directory = &pool.directory
    cdef uint64_t extent, key
    cdef uint32_t part, place, bits
    directory.starts = NULL
    directory.slots = NULL
    if pool.count < 2:
        return 0
    _reserve_parts(directory, pool.count)
    directory.least = pool.keys[0]
    extent = pool.keys[pool.count - 1] - directory.least
    bits = 64 - leading_zeros(directory.count - 1 | 1)
    directory.shift = 0
    if extent:
        directory.shift = max(bits, <uint32_t> (64 - leading_zeros(extent))) - bits
    place = 0
    for part in range(1, directory.count):
        key = directory.least + (<uint64_t> part << directory.shift)
        place = pool.count if key < directory.least else _first_key(pool, key, place, pool.count)  # beyond 64 bits: none
        directory.starts[part] = place
    return 0


cdef int open_slots(Pool *pool) except -1:
    """Make the hash table of a pool that is not reversed; none if it has many members."""
    cdef Directory *directory = &pool.directory
    cdef uint64_t room = 4
    cdef uint64_t slot
    cdef uint32_t place, length
    cdef const char *text
    if pool.count > FEW_TEXTS:
        return 0
    while 3 * room < 4 * <uint64_t> pool.count:
        room *= 2
    directory.slots = <TextSlot *> zeroed(room, sizeof(TextSlot))
    directory.mask = room - 1
    for place in range(pool.count):
        text = text_at(&pool.texts, member_id(pool, place), &length)
        slot = hash_bytes(text, length, 0) & directory.mask
        while directory.slots[slot].member:
            slot = (slot + 1) & directory.mask
        directory.slots[slot].first, directory.slots[slot].length = first_bytes(text, length), length
        directory.slots[slot].member = place + 1
    return 0


cdef int _open_number_directory(Numbers *numbers) except -1:
    cdef Directory *directory = &numbers.directory
    cdef double extent
    cdef uint32_t part, place, end
    directory.starts = NULL
    if numbers.count < 2:
        return 0
    extent = numbers.high[numbers.count - 1] - numbers.high[0]
    _reserve_parts(directory, numbers.count)
    directory.least_number = numbers.high[0]
    directory.scale = directory.count / extent if extent > 0 else 0
    if not isfinite(extent) or not isfinite(directory.scale):
        close_numbers(numbers)
        return 0
    part = 0
    for place in range(numbers.count):
        end = number_part(directory, numbers.high[place])
        while part < end:
            part += 1
            directory.starts[part] = place
    while part + 1 < directory.count:
        part += 1
        directory.starts[part] = numbers.count
    return 0


# --- Numbers

cdef uint32_t number_place(const Numbers *numbers, double high, int16_t low) noexcept nogil:
    """Return the doubled rank of a number."""
    cdef uint32_t first = 0
    cdef uint32_t end = numbers.count
    cdef uint32_t count, half, part
    cdef bint below
    if numbers.directory.starts != NULL:
        part = number_part(&numbers.directory, high)
        first, end = numbers.directory.starts[part], numbers.directory.starts[part + 1]
    count = end - first
    while count > 0:  # the first number that is not below
        half = count >> 1
        below = numbers.high[first + half] < high or (
            numbers.high[first + half] == high and numbers.low[first + half] < low
        )
        first += (half + 1) * below
        count = count - half - 1 if below else half
    if first < end and numbers.high[first] == high and numbers.low[first] == low:
        return 2 * first + 1
    return 2 * first


cdef uint32_t rank_steps(const Numbers *numbers, double high) noexcept nogil:
    """Return the most steps of `number_place`: one into the directory, and a binary search of that part."""
    cdef uint32_t count = numbers.count
    cdef uint32_t steps = 0
    cdef uint32_t part
    if numbers.directory.starts != NULL:
        part = number_part(&numbers.directory, high)
        count = numbers.directory.starts[part + 1] - numbers.directory.starts[part]
        steps = 1
    while count > 0:
        count >>= 1
        steps += 1
    return steps


# --- Texts

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


cdef inline uint32_t _first_key(const Pool *pool, uint64_t key, uint32_t first, uint32_t end) noexcept nogil:
    """Return the first member between two whose key is not below a key, or the end; without branches to mispredict."""
    cdef uint32_t count = end - first
    cdef uint32_t half
    if count == 0:
        return end
    while count > 1:
        half = count >> 1
        first += half * (pool.keys[first + half - 1] < key)
        count -= half
    return first + (pool.keys[first] < key)


cdef uint32_t _first_text(const Pool *pool, uint64_t key, const char *text, uint32_t length, uint32_t first,
                          bint *is_equal) noexcept nogil:
    """Return the first member from one on that is not below a text; the key of that one is the text's."""
    cdef uint32_t count = 1
    cdef uint32_t half, other_length
    cdef const char *other
    cdef int difference
    while count < pool.count - first and pool.keys[first + count] == key:  # widen, as few have the same key
        count = min(2 * count, pool.count - first)
    while count > 0:
        half = count >> 1
        difference = pool.keys[first + half] != key
        if not difference:
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


cdef uint32_t _first_not_below(const Pool *pool, const char *text, uint32_t length, bint *is_equal) noexcept nogil:
    cdef uint64_t key = text_key(text, length, pool.is_reversed)
    cdef const Directory *directory = &pool.directory
    cdef uint32_t part
    cdef uint32_t first = 0
    cdef uint32_t end = pool.count
    is_equal[0] = False
    if directory.starts != NULL:
        if key < directory.least:
            return 0
        part = key_part(directory, key)
        first, end = directory.starts[part], directory.starts[part + 1]
    first = _first_key(pool, key, first, end)
    if first < end and pool.keys[first] == key:
        return _first_text(pool, key, text, length, first, is_equal)
    return first


cdef uint32_t constant_place(const Pool *pool, const char *text, uint32_t length) noexcept nogil:
    """Return the doubled rank of a text that is a member; 0, or an even number, of another."""
    cdef const Directory *directory = &pool.directory
    cdef const TextSlot *slot
    cdef uint64_t number, first
    cdef uint32_t other_length
    cdef const char *other
    if directory.slots == NULL:
        return text_place(pool, text, length)
    number = hash_bytes(text, length, 0)
    first = first_bytes(text, length)
    while True:
        slot = directory.slots + (number & directory.mask)
        if slot.member == 0:
            return 0
        if slot.first == first and slot.length == length:
            if length <= 8:
                return 2 * slot.member - 1
            other = text_at(&pool.texts, member_id(pool, slot.member - 1), &other_length)
            if equal_bytes(other + 8, text + 8, length - 8):
                return 2 * slot.member - 1
        number += 1


cdef uint32_t text_place(const Pool *pool, const char *text, uint32_t length) noexcept nogil:
    """Return the doubled rank of a text."""
    cdef bint is_equal
    cdef uint32_t first
    if pool.directory.slots != NULL:
        first = constant_place(pool, text, length)
        if first:
            return first
    first = _first_not_below(pool, text, length, &is_equal)
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
    pool.directory.starts = NULL
    pool.directory.slots = NULL
    with nogil:
        for place in range(ids.shape[0]):
            text = text_at(&pool.texts, ids[place], &length)
            keys[place] = text_key(text, length, is_reversed)
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
