"""IP addresses of conditions."""

from libc.stdint cimport uint8_t

cdef int read_address(const uint8_t *text, Py_ssize_t length, uint8_t *address) noexcept nogil
cdef bint has_prefix(const uint8_t *address, const uint8_t *block, int bits) noexcept nogil
