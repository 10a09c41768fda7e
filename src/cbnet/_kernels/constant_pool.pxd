"""Sorted constants, and the rank of a value among them."""

from libc.stdint cimport int16_t, uint8_t, uint32_t, uint64_t

cdef struct Texts:
    const uint8_t *data
    const uint32_t *offsets
    uint32_t count
    uint32_t bytes

cdef struct Directory:         # where to search; see `constant_pool.pyx`
    uint32_t *starts           # and one more; NULL: search everywhere
    uint32_t count
    uint32_t shift
    uint32_t *slots            # by hash of the text: index + 1, or 0; NULL: none
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
