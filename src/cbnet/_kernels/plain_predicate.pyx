"""Filters of plain predicates, from text to byte form (`language.syntax.byte_form`), without an object for each part.

    dest = "MXP" and price < 500 or #sale      ─►      [["dest", 0, "MXP"], ["price", 2, 500]],  ["sale"]

Read here: names, tags and keywords without quotes, strings without escapes, numbers without exponents, `true` and
`false` as values; at most one constraint on a name. Any other text is left to the parser, which reads it, or reports
the error.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree
from libc.math cimport floor
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize
from cbnet._kernels.frame_writer cimport put_bytes, put_number
from cbnet._kernels.memory cimport resized
from cbnet._kernels.plain_filter cimport PlainText, compared
from cbnet._kernels.test_codes cimport (
    OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE, OP_PREFIX, OP_SUBSTRING, OP_SUFFIX,
)

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *text, char **end, object overflow) except? -1.0

cdef enum:
    MAX_PARTS = 32          # of a filter
    MAX_BYTES = 1 << 15     # of a text, so that no filter is too long
    MAX_DIGITS = 15         # of an integer: floats hold all of these
    PART_BYTES = 24         # of a part, beside its texts
    NO_OPERATOR = 255

cdef enum ValueKind:
    IS_STRING, IS_INT, IS_FLOAT, IS_BOOL

cdef struct Part:
    PlainText name
    PlainText text
    double number
    ValueKind kind
    uint8_t op

cdef struct Draft:          # the filter that is being read
    Part constraints[MAX_PARTS]
    PlainText tags[MAX_PARTS]
    uint32_t count
    uint32_t tag_count


# --- reading

cdef inline bint _is_space(char byte) noexcept nogil:
    return byte == c" " or byte == c"\n" or byte == c"\t" or byte == c"\r"


cdef inline bint _is_digit(char byte) noexcept nogil:
    return c"0" <= byte <= c"9"


cdef inline bint _is_first(char byte) noexcept nogil:
    return c"a" <= byte <= c"z" or c"A" <= byte <= c"Z" or byte == c"_"


cdef const char *_after_spaces(const char *at, const char *end) noexcept nogil:
    while at < end and _is_space(at[0]):
        at += 1
    return at


cdef const char *_read_word(const char *at, const char *end, PlainText *word) noexcept nogil:
    """Read a name or a keyword; its length is 0 if there is none."""
    word.text = at
    if at < end and _is_first(at[0]):
        while at < end and (_is_first(at[0]) or _is_digit(at[0]) or at[0] == c"." or at[0] == c"-"):
            at += 1
    word.length = <uint32_t> (at - word.text)
    return at


cdef inline bint _is(const PlainText *word, const char *text, uint32_t length) noexcept nogil:
    return word.length == length and memcmp(word.text, text, length) == 0


cdef bint _is_keyword(const PlainText *word) noexcept nogil:
    return (
        _is(word, b"and", 3) or _is(word, b"or", 2) or _is(word, b"not", 3) or _is(word, b"exists", 6)
        or _is(word, b"true", 4) or _is(word, b"false", 5) or _is(word, b"null", 4)
    )


cdef const char *_read_operator(const char *at, const char *end, uint8_t *op) noexcept nogil:
    """Read an operator; NO_OPERATOR if it is none of those of constraints."""
    cdef const char *start = at
    while at < end and memchr(b"=!<>^$*~&|", at[0], 10) != NULL:
        at += 1
    op[0] = NO_OPERATOR
    if at - start == 1:
        op[0] = OP_EQ if start[0] == c"=" else OP_LT if start[0] == c"<" else OP_GT if start[0] == c">" else NO_OPERATOR
    elif at - start == 2 and start[1] == c"=":
        if start[0] == c"!":
            op[0] = OP_NE
        elif start[0] == c"<":
            op[0] = OP_LE
        elif start[0] == c">":
            op[0] = OP_GE
        elif start[0] == c"^":
            op[0] = OP_PREFIX
        elif start[0] == c"$":
            op[0] = OP_SUFFIX
        elif start[0] == c"*":
            op[0] = OP_SUBSTRING
    return at


cdef const char *_read_string(const char *at, const char *end, Part *part) noexcept nogil:
    """Read a string after its first quote; NULL if it has escapes or no end."""
    part.kind = IS_STRING
    part.text.text = at
    while at < end and at[0] != c'"':
        if at[0] == c"\\" or at[0] == c"\n":
            return NULL
        at += 1
    if at == end:
        return NULL
    part.text.length = <uint32_t> (at - part.text.text)
    return at + 1 if part.text.length or part.op == OP_EQ else NULL


cdef const char *_read_number(const char *at, const char *end, Part *part) except? NULL:
    """Read a number; NULL if it has an exponent or too many digits, or is 0 or a fraction of 0 in another form."""
    cdef const char *start = at
    cdef const char *first
    cdef int64_t whole = 0
    cdef char *after = NULL
    if at[0] == c"-":
        at += 1
    first = at
    while at < end and _is_digit(at[0]) and at - first <= MAX_DIGITS:
        whole = 10 * whole + (at[0] - c"0")
        at += 1
    if at == first or at - first > MAX_DIGITS or (first[0] == c"0" and at - first > 1) or part.op > OP_GE:
        return NULL
    if at == end or at[0] != c".":
        part.kind = IS_INT
        part.number = <double> (whole if start == first else -whole)
        return NULL if start != first and whole == 0 else at
    at += 1
    first = at
    while at < end and _is_digit(at[0]):
        at += 1
    if at == first or (at < end and not _is_space(at[0])):
        return NULL
    part.kind = IS_FLOAT
    part.number = PyOS_string_to_double(start, &after, None)
    return NULL if after != at or floor(part.number) == part.number else at


cdef const char *_read_value(const char *at, const char *end, Part *part) except? NULL:
    cdef PlainText word
    if at == end:
        return NULL
    if at[0] == c'"':
        return _read_string(at + 1, end, part)
    if at[0] == c"-" or _is_digit(at[0]):
        return _read_number(at, end, part)
    at = _read_word(at, end, &word)
    part.kind = IS_BOOL
    part.number = _is(&word, b"true", 4)
    return at if part.op == OP_EQ and (part.number or _is(&word, b"false", 5)) else NULL


cdef const char *_read_part(const char *at, const char *end, Draft *draft) except? NULL:
    """Read a constraint or a tag; NULL if it is not plain."""
    cdef Part part
    if at < end and at[0] == c"#":
        at = _read_word(at + 1, end, &part.name)
        if not part.name.length or not _file_tag(draft, &part.name):
            return NULL
    else:
        at = _after_spaces(_read_word(at, end, &part.name), end)
        if not part.name.length or _is_keyword(&part.name):
            return NULL
        at = _read_operator(at, end, &part.op)
        if part.op == NO_OPERATOR:
            return NULL
        at = _read_value(_after_spaces(at, end), end, &part)
        if at == NULL or not _file(draft, &part):
            return NULL
    return at if at == end or _is_space(at[0]) else NULL


# --- canonical order

cdef bint _file(Draft *draft, const Part *part) noexcept nogil:
    """Insert a constraint in the order of names; return False if the name has one, or there are too many."""
    cdef uint32_t at = draft.count
    cdef int order
    if draft.count == MAX_PARTS:
        return False
    while at:
        order = compared(&draft.constraints[at - 1].name, &part.name)
        if order == 0:
            return False
        if order < 0:
            break
        draft.constraints[at] = draft.constraints[at - 1]
        at -= 1
    draft.constraints[at] = part[0]
    draft.count += 1
    return True


cdef bint _file_tag(Draft *draft, const PlainText *tag) noexcept nogil:
    """Insert a tag in order; return False if it is there, or there are too many."""
    cdef uint32_t at = draft.tag_count
    cdef int order
    if draft.tag_count == MAX_PARTS:
        return False
    while at:
        order = compared(&draft.tags[at - 1], tag)
        if order == 0:
            return False
        if order < 0:
            break
        draft.tags[at] = draft.tags[at - 1]
        at -= 1
    draft.tags[at] = tag[0]
    draft.tag_count += 1
    return True


# --- writing

cdef uint8_t *_put_text(uint8_t *at, const PlainText *text) noexcept nogil:
    if text.length < 32:
        at[0] = <uint8_t> (0xA0 | text.length)
        at += 1
    elif text.length < 256:
        at[0], at[1] = 0xD9, <uint8_t> text.length
        at += 2
    else:
        at[0], at[1], at[2] = 0xDA, <uint8_t> (text.length >> 8), <uint8_t> text.length
        at += 3
    return put_bytes(at, text.text, text.length)


cdef uint8_t *_put_big_endian(uint8_t *at, uint8_t lead, uint64_t bits, int width) noexcept nogil:
    cdef int i
    at[0] = lead
    for i in range(width):
        at[width - i] = <uint8_t> (bits >> (8 * i))
    return at + 1 + width


cdef uint8_t *_put_negative(uint8_t *at, int64_t number) noexcept nogil:
    if number >= -32:
        at[0] = <uint8_t> number
        return at + 1
    if number >= -128:
        return _put_big_endian(at, 0xD0, <uint64_t> number, 1)
    if number >= -32768:
        return _put_big_endian(at, 0xD1, <uint64_t> number, 2)
    if number >= -2147483648:
        return _put_big_endian(at, 0xD2, <uint64_t> number, 4)
    return _put_big_endian(at, 0xD3, <uint64_t> number, 8)


cdef uint8_t *_put_value(uint8_t *at, const Part *part) noexcept nogil:
    cdef uint64_t bits
    if part.kind == IS_STRING:
        return _put_text(at, &part.text)
    if part.kind == IS_BOOL:
        at[0] = 0xC3 if part.number else 0xC2
        return at + 1
    if part.kind == IS_FLOAT:
        memcpy(&bits, &part.number, 8)
        return _put_big_endian(at, 0xCB, bits, 8)
    return put_number(at, <uint64_t> part.number) if part.number >= 0 else _put_negative(at, <int64_t> part.number)


cdef bytes _encoded(const Draft *draft, uint8_t *space):
    """Return the byte form of a filter."""
    cdef uint8_t *at = space
    cdef uint32_t i, size = draft.count + draft.tag_count
    if size < 16:
        at[0] = <uint8_t> (0x90 | size)
        at += 1
    else:
        at[0], at[1], at[2] = 0xDC, 0, <uint8_t> size
        at += 3
    for i in range(draft.count):
        at[0] = 0x93
        at = _put_text(at + 1, &draft.constraints[i].name)
        at[0] = draft.constraints[i].op
        at = _put_value(at + 1, &draft.constraints[i])
    for i in range(draft.tag_count):
        at = _put_text(at, &draft.tags[i])
    return PyBytes_FromStringAndSize(<const char *> space, at - space)


def plain_filters(str text not None, Py_ssize_t most_filters, Py_ssize_t most_parts):
    """Return the filters of a plain predicate in their byte form; None if it is not plain, or has too many parts."""
    cdef Py_ssize_t length
    cdef const char *at
    cdef uint8_t *space
    try:
        at = PyUnicode_AsUTF8AndSize(text, &length)
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    if length > MAX_BYTES:
        return None
    space = <uint8_t *> resized(NULL, length + 2 * MAX_PARTS * PART_BYTES)
    try:
        return _filters(at, at + length, space, most_filters, most_parts)
    finally:
        PyMem_RawFree(space)


cdef list _filters(const char *at, const char *end, uint8_t *space, Py_ssize_t most_filters, Py_ssize_t most_parts):
    cdef Draft draft
    cdef PlainText word
    cdef list filters = []
    draft.count = draft.tag_count = 0
    while True:
        at = _read_part(_after_spaces(at, end), end, &draft)
        most_parts -= 1
        if at == NULL or most_parts < 0:
            return None
        at = _after_spaces(at, end)
        if at < end:
            at = _read_word(at, end, &word)
            if _is(&word, b"and", 3):
                continue
            if not _is(&word, b"or", 2):
                return None
        else:
            word.length = 0
        if len(filters) == most_filters:
            return None
        filters.append(_encoded(&draft, space))
        draft.count = draft.tag_count = 0
        if not word.length:
            return filters
