"""Columns of values, to be encoded as messages; `column_encoding.pyx` draws them."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef struct Column:
    uint32_t symbol
    int kind                  # a letter, see `Columns`
    const uint8_t *valid      # bits; NULL: all values are
    const void *data
    const char *text
    int64_t first             # position of the first value in the arrays above
    Py_ssize_t count          # of values, or of rows of tags
    const int64_t *rows       # of each value; NULL: value i is of row i
    const uint32_t *elements  # of each value; NULL: 0

cdef inline uint64_t valid_bits(const Column *column, Py_ssize_t index) noexcept nogil:
    """Return whether each of the next 64 values is valid, as bits from the lowest on."""
    cdef Py_ssize_t left = column.count - index
    cdef int64_t place = column.first + index
    cdef int shift = place & 7
    cdef uint64_t bits = ~<uint64_t> 0
    cdef Py_ssize_t bytes
    if column.valid != NULL:
        bytes = ((left if left < 64 else 64) + shift + 7) >> 3
        bits = 0
        if bytes >= 8:
            memcpy(&bits, column.valid + (place >> 3), 8)
        else:
            memcpy(&bits, column.valid + (place >> 3), bytes)
        bits >>= shift
        if bytes == 9:
            bits |= <uint64_t> column.valid[(place >> 3) + 8] << (64 - shift)
    if left < 64:
        bits &= ((<uint64_t> 1) << left) - 1
    return bits

cdef class Columns:
    cdef Column *items
    cdef Py_ssize_t count, room
    cdef Column *push(self) except NULL
    cdef uint64_t *_order(self) except NULL
