"""Names and tags that the code of a condition contains. `condition_codes.pxd` draws the code."""

from libc.stdint cimport uint8_t, uint32_t

cdef struct Mention:
    uint8_t operation       # ATTRIBUTE, PRESENCE or HAS_TAG
    const char *text        # the name or tag, in the code
    uint32_t length

cdef Py_ssize_t next_mention(const uint8_t *code, Py_ssize_t length, Py_ssize_t at, Mention *mention) noexcept nogil
