"""Names and tags that the code of a condition contains. See `condition_mentions.pxd`."""

from libc.stdint cimport uint8_t

from cbnet._kernels.condition_codes cimport ATTRIBUTE, EQUAL, HAS_TAG, PRESENCE, STRING_CONSTANT
from cbnet._kernels.condition_operand cimport Operand, Reader, read_constant, read_text


cdef Py_ssize_t next_mention(const uint8_t *code, Py_ssize_t length, Py_ssize_t at, Mention *mention) noexcept nogil:
    """Read the next name or tag from offset `at` on (1 at first); return the offset after it, or 0."""
    cdef Reader reader
    cdef Operand constant
    cdef const uint8_t *text
    if at < 1 or at >= length:
        return 0
    reader.at = code + at
    reader.end = code + length
    while reader.at < reader.end:
        mention.operation = reader.at[0]
        reader.at += 1
        if mention.operation in (ATTRIBUTE, PRESENCE, HAS_TAG):
            if not read_text(&reader, &text, &mention.length):
                return 0
            mention.text = <const char *> text
            return reader.at - code
        if mention.operation <= STRING_CONSTANT:
            if not read_constant(&reader, mention.operation, &constant):
                return 0
        elif mention.operation >= EQUAL:  # a test, the last operation
            return 0
    return 0


def mentions(bytes code):
    """Return the names and tags in the code, as pairs of text and whether it is a tag."""
    cdef const uint8_t *first = code
    cdef Mention mention
    cdef Py_ssize_t at = next_mention(first, len(code), 1, &mention)
    found = []
    while at:
        found.append((mention.text[:mention.length].decode(), mention.operation == HAS_TAG))
        at = next_mention(first, len(code), at, &mention)
    return found
