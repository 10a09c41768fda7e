"""Sorted constants, and the rank of a value among them."""

from libc.stdint cimport int16_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from cbnet._kernels.byte_strings cimport first_bytes, hash_bytes
from cbnet._kernels.intrinsics cimport swap64

cdef struct Texts:
    const uint8_t *data
    const uint32_t *offsets
    uint32_t count
    uint32_t bytes

cdef struct TextSlot:          # of a hash table
    uint64_t first             # its first eight bytes
    uint32_t length
    uint32_t member            # index + 1; 0: free

cdef struct Directory:         # where to search; see `constant_pool.pyx`
    uint32_t *starts           # and one more; NULL: search everywhere
    uint32_t count
    uint32_t shift
    TextSlot *slots            # by hash of the text; NULL: none
    uint64_t mask
    uint64_t least             # key
    double least_number
    double scale

cdef struct Pool:
    Texts texts
    const uint32_t *ids        # indices in texts, sorted by text (or by reversed text); NULL: all, in order
    const uint64_t *keys       # the first eight bytes of each, as a number
    const uint32_t *parents    # index + 1 in the pool of the longest proper prefix; 0: none
    uint32_t count
    bint is_reversed
    Directory directory

cdef struct Numbers:
    const double *high
    const int16_t *low
    uint32_t count
    Directory directory

cdef int open_numbers(Numbers *numbers, dict arrays) except -1
cdef void close_numbers(Numbers *numbers) noexcept
cdef int open_directory(Pool *pool) except -1
cdef int open_slots(Pool *pool) except -1
cdef void close_pool(Pool *pool) noexcept
cdef int open_texts(Texts *texts, dict arrays, str name) except -1
cdef uint32_t number_place(const Numbers *numbers, double high, int16_t low) noexcept nogil
cdef uint32_t rank_steps(const Numbers *numbers, double high) noexcept nogil
cdef uint32_t constant_place(const Pool *pool, const char *text, uint32_t length) noexcept nogil
cdef uint32_t text_place(const Pool *pool, const char *text, uint32_t length) noexcept nogil
cdef uint32_t last_not_above(const Pool *pool, const char *text, uint32_t length) noexcept nogil
cdef bint begins(const Pool *pool, uint32_t place, const char *text, uint32_t length) noexcept nogil
cdef const char *text_at(const Texts *texts, uint32_t place, uint32_t *length) noexcept nogil

cdef inline uint32_t filter_bit(const char *text, uint32_t width) noexcept nogil:
    """Return the bit, of 65,536, of the first one to three bytes of a text."""
    cdef uint32_t bits = <uint8_t> text[0]
    if width > 1:
        bits = (bits << 8) | <uint8_t> text[1]
    if width > 2:
        bits = ((bits << 8) | <uint8_t> text[2]) * <uint32_t> 2654435761
        bits >>= 16
    return bits & 0xFFFF

cdef inline uint64_t text_key(const char *text, uint32_t length, bint is_reversed) noexcept nogil:
    """Return the first eight bytes (from the end, if reversed) as a number that orders them."""
    cdef uint64_t key
    if not is_reversed:
        return swap64(first_bytes(text, length))
    if length >= 8:
        memcpy(&key, text + length - 8, 8)
        return key
    return first_bytes(text, length) << (8 * (8 - length)) if length else 0

cdef inline uint32_t key_part(const Directory *directory, uint64_t key) noexcept nogil:
    """Return the part of a key that is not below the least."""
    cdef uint64_t part = (key - directory.least) >> directory.shift
    return <uint32_t> part if part < directory.count else directory.count - 1

cdef inline uint32_t number_part(const Directory *directory, double number) noexcept nogil:
    """Return the part of a number; it never falls while the numbers rise."""
    cdef double part = (number - directory.least_number) * directory.scale
    if not part >= 0:
        return 0
    return <uint32_t> part if part < directory.count else directory.count - 1

cdef inline const void *number_address(const Numbers *numbers, double number) noexcept nogil:
    """Return what a search for a number reads first."""
    return numbers.directory.starts + number_part(&numbers.directory, number) if numbers.directory.starts != NULL else NULL

cdef inline const void *first_compared(const Numbers *numbers, double number) noexcept nogil:
    """Return the constant that a search for a number reads next."""
    cdef uint32_t part
    if numbers.directory.starts == NULL:
        return numbers.high
    part = number_part(&numbers.directory, number)
    return numbers.high + numbers.directory.starts[part]

cdef inline const void *text_address(const Pool *pool, const char *text, uint32_t length) noexcept nogil:
    """Return what a search for a text reads first."""
    cdef const Directory *directory = &pool.directory
    if directory.slots != NULL:
        return directory.slots + (hash_bytes(text, length, 0) & directory.mask)
    if directory.starts != NULL:
        return directory.starts + key_part(directory, text_key(text, length, False))
    return NULL
