"""String functions of conditions, on UTF-8, and IP addresses."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef int read_address(const uint8_t *text, Py_ssize_t length, uint8_t *address) noexcept nogil
cdef bint has_prefix(const uint8_t *address, const uint8_t *block, int bits) noexcept nogil

cdef enum:
    INVALID = 0xFFFFFFFF    # no character

# The first character and its width in bytes; INVALID, of one byte, where there is none.
cdef uint32_t decode(const uint8_t *text, Py_ssize_t length, int *width) noexcept nogil

cdef enum:
    ANY_RUN = 0xFF          # `%` in a compiled pattern; no byte of UTF-8
    ANY_CHARACTER = 0xFE    # `_`

cdef bint is_like(const uint8_t *text, Py_ssize_t length, const uint8_t *pattern, Py_ssize_t pattern_length) noexcept nogil

# `changed` has room for changed_room(length) bytes.
cdef Py_ssize_t change_case(const uint8_t *text, Py_ssize_t length, bint to_upper, uint8_t *changed) noexcept nogil

cdef Py_ssize_t character_count(const uint8_t *text, Py_ssize_t length) noexcept nogil
cdef bint read_int(const uint8_t *text, Py_ssize_t length, int64_t *number) noexcept nogil
cdef int read_bool(const uint8_t *text, Py_ssize_t length) noexcept nogil

cdef inline Py_ssize_t changed_room(Py_ssize_t length) noexcept nogil:
    """Return how long a text can be after a change of case: at most one byte more for two."""
    return length + length // 2
