"""Plain filters, read from their byte form. See `plain_filter.pxd`."""

from sys import intern

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport fabs, floor
from libc.stdint cimport int64_t, uint64_t

from cbnet._kernels.frame_message cimport read_scalar, read_text
from cbnet._kernels.message_encoding cimport BOOL, NUMBER, STRING
from cbnet._kernels.test_codes cimport BOOL_EQ, IS_TAG, NUMBER_EQ, OP_EQ, OP_GE, OP_SUBSTRING, STRING_EQ

cdef enum:
    FIXARRAY = 0x90   # first bytes in MessagePack: an array of up to 15 items, a longer one, a float
    CONSTRAINT = 0x93
    ARRAY16 = 0xDC
    FLOAT64 = 0xCB
    MAX_LENGTH = 4096

cdef double MAX_EXACT = 9007199254740990.0  # 2**53 - 2: neighbours are floats, too


cdef bint is_plain_constraint(const PlainConstraint *constraint) noexcept:
    """Return whether a constraint is plain."""
    cdef const Attribute *constant = &constraint.constant
    if constraint.name.length == 1 and constraint.name.text[0] == b"#":
        return False
    if constant.kind == STRING:
        return constant.length > 0 or constraint.op == OP_EQ
    if constant.kind == BOOL:
        return constraint.op == OP_EQ
    if constant.kind != NUMBER or constraint.op > OP_GE or fabs(constant.high) > MAX_EXACT:
        return False
    return constraint.is_int or floor(constant.high) != constant.high


cdef const uint8_t *_read_constraint(const uint8_t *at, const uint8_t *end, PlainConstraint *constraint) noexcept:
    cdef uint64_t characters = 0
    at = read_text(at, end, &constraint.name.text, &constraint.name.length, &characters)
    if at == NULL or end - at < 2 or at[0] > OP_SUBSTRING:
        return NULL
    constraint.op = at[0]
    constraint.is_int = at[1] != FLOAT64
    at = read_scalar(at + 1, end, &constraint.constant, &characters)
    return at if at != NULL and is_plain_constraint(constraint) else NULL


cdef bint read_filter(bytes encoded, PlainFilter *filter) noexcept:
    """Read a filter; return whether it is plain."""
    cdef const uint8_t *at = <const uint8_t *> PyBytes_AS_STRING(encoded)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(encoded)
    cdef const uint8_t *end = at + size
    cdef uint64_t characters = 0
    cdef uint32_t parts, i
    filter.count = filter.tag_count = 0
    if size == 0 or size > MAX_LENGTH:
        return False
    if at[0] & 0xF0 == FIXARRAY:
        parts = at[0] & 15
        at += 1
    elif at[0] == ARRAY16 and size > 3:
        parts = <uint32_t> at[1] << 8 | at[2]
        at += 3
        if parts < 16:
            return False
    else:
        return False
    for i in range(parts):
        if at < end and at[0] == CONSTRAINT:
            if filter.tag_count or filter.count == MAX_CONSTRAINTS:
                return False
            at = _read_constraint(at + 1, end, &filter.constraints[filter.count])
            if at == NULL or (filter.count and compared(
                    &filter.constraints[filter.count - 1].name, &filter.constraints[filter.count].name) >= 0):
                return False
            filter.count += 1
        else:
            if filter.tag_count == MAX_FILTER_TAGS:
                return False
            at = read_text(at, end, &filter.tags[filter.tag_count].text, &filter.tags[filter.tag_count].length,
                           &characters)
            if at == NULL or (filter.tag_count and compared(
                    &filter.tags[filter.tag_count - 1], &filter.tags[filter.tag_count]) >= 0):
                return False
            filter.tag_count += 1
    return at == end


cdef object constant_of(const PlainConstraint *constraint):
    """Return the constant of a constraint as a value of Python."""
    cdef const Attribute *constant = &constraint.constant
    if constant.kind == STRING:
        return PyUnicode_DecodeUTF8(constant.text, constant.length, NULL)
    if constant.kind == BOOL:
        return constant.high != 0
    if constraint.is_int:
        return <int64_t> constant.high
    return constant.high


cdef str shared_text(const PlainText *text):
    """Return a name or a tag: one object for all filters."""
    return intern(PyUnicode_DecodeUTF8(text.text, text.length, NULL))


def is_plain(bytes encoded not None):
    """Return whether a filter in its byte form is plain: it is canonical, without redundancy, and can be matched."""
    cdef PlainFilter filter
    return read_filter(encoded, &filter)


def plain_parts(bytes encoded not None):
    """Return the number of constraints and tags of a plain filter; -1 for any other."""
    cdef PlainFilter filter
    return filter.count + filter.tag_count if read_filter(encoded, &filter) else -1


def plain_tests(bytes encoded not None):
    """Return the tests of a plain filter, as `matching.storage.filter_encoding` encodes them; None for any other."""
    cdef PlainFilter filter
    cdef const PlainConstraint *constraint
    cdef uint32_t i
    cdef int code
    cdef list tests
    if not read_filter(encoded, &filter):
        return None
    tests = []
    for i in range(filter.count):
        constraint = &filter.constraints[i]
        code = STRING_EQ if constraint.constant.kind == STRING else NUMBER_EQ
        code = BOOL_EQ if constraint.constant.kind == BOOL else code + constraint.op
        tests.append((shared_text(&constraint.name), code, constant_of(constraint)))
    for i in range(filter.tag_count):
        tests.append((shared_text(&filter.tags[i]), IS_TAG, None))
    return frozenset(tests)
