"""Times as text; `language.timestamps` is the plain twin."""

from libc.stdint cimport int64_t, uint8_t

# Set the nanoseconds since 1970, and `real` to 0; beyond 64 bits, `real` to the nearest float. Return whether it is a time.
cdef bint read_time(const uint8_t *text, Py_ssize_t length, int64_t *whole, double *real) noexcept nogil
