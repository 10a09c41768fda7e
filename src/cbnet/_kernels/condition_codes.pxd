"""Conditions as code for a stack machine, and its operands.

    code      │ accepted │ operation │ operation │ … │ test │      uint8[length], at most MAX_CONDITION_BYTES

The first byte holds the accepted outcomes, or-ed. Operations push a value or replace the last values by their result;
the test at the end consumes them and gives the outcome. Operands stand after their operation, little-endian; a text is
its length (u32) and its UTF-8 bytes. `matching.storage.condition_code` writes the code.
"""

from libc.math cimport isfinite
from libc.stdint cimport INT64_MAX, int16_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from cbnet._kernels.intrinsics cimport add_overflows
from cbnet._kernels.message_encoding cimport BOOL, NULL_VALUE, NUMBER, STRING, Attribute

cdef enum Outcome:
    DAMAGED = 0         # never accepted, unlike the others
    IS_TRUE = 1
    IS_FALSE = 2
    IS_UNKNOWN = 4

cdef enum Operation:
    ATTRIBUTE = 1       # name
    NULL_CONSTANT = 2
    FALSE_CONSTANT = 3
    TRUE_CONSTANT = 4
    NUMBER_CONSTANT = 5     # f64 high, i16 low
    STRING_CONSTANT = 6     # text
    BOOL_OF = 7
    LENGTH = 8
    ABS = 9
    ADD = 10
    SUBTRACT = 11
    MULTIPLY = 12
    DIVIDE = 13
    WHOLE_DIVIDE = 14
    REMAINDER = 15
    LOWER = 16
    UPPER = 17
    INT_OF = 18
    STRING_OF = 19
    COMPARISON = 20     # and eight more: that of an operator of `test_codes`
    LIKE = 30           # text: the pattern, see `condition_text`
    MEMBER = 31         # u32 count, then `count` constants
    PRESENCE = 32       # name
    HAS_TAG = 33        # tag
    IN_BLOCK = 34       # u8 version (4 or 6), u8 length of the prefix, uint8[16] address; IPv4: its first 4 bytes
    TIME_OF = 40        # 20 to 39 are tests
    SEARCH = 35         # text: the pattern, for people; text: its program, see `regex_search`

cdef struct Operand:
    uint8_t kind
    bint is_null_constant
    bint is_int
    int64_t whole           # the number, if it is a 64-bit int; of a bool, 0 or 1
    double real             # the number, or its nearest float
    const uint8_t *text
    Py_ssize_t length
    uint8_t *allocated      # the text, if it must be freed

cdef struct Reader:
    const uint8_t *at       # next byte of the code
    const uint8_t *end


cdef inline bint read_text(Reader *reader, const uint8_t **text, uint32_t *length) noexcept nogil:
    if reader.end - reader.at < 4:
        return False
    memcpy(length, reader.at, 4)
    reader.at += 4
    if reader.end - reader.at < <Py_ssize_t> length[0]:
        return False
    text[0] = reader.at
    reader.at += length[0]
    return True


cdef inline bint set_number(Operand *number, double high, int16_t low) noexcept nogil:
    """Set a number from its nearest float and the distance from it; return whether it is finite."""
    number.kind = NUMBER
    number.real = high + 0.0
    number.is_int = False
    if -9223372036854775808.0 <= high < 9223372036854775808.0:
        if high == <double> <int64_t> high:
            number.is_int = not add_overflows(<int64_t> high, low, &number.whole)
    elif high == 9223372036854775808.0 and low < 0:
        number.is_int = True
        number.whole = INT64_MAX + (<int64_t> low + 1)
    return isfinite(high)


cdef inline bint read_constant(Reader *reader, uint8_t operation, Operand *constant) noexcept nogil:
    cdef double high
    cdef int16_t low
    cdef uint32_t length
    constant.allocated = NULL
    constant.is_null_constant = operation == NULL_CONSTANT
    if operation == NULL_CONSTANT:
        constant.kind = NULL_VALUE
        return True
    if operation == FALSE_CONSTANT or operation == TRUE_CONSTANT:
        constant.kind = BOOL
        constant.whole = operation == TRUE_CONSTANT
        return True
    if operation == STRING_CONSTANT:
        constant.kind = STRING
        if not read_text(reader, &constant.text, &length):
            return False
        constant.length = length
        return True
    if operation != NUMBER_CONSTANT or reader.end - reader.at < 10:
        return False
    memcpy(&high, reader.at, 8)
    memcpy(&low, reader.at + 8, 2)
    reader.at += 10
    return set_number(constant, high, low)


cdef inline bint set_value(Operand *operand, const Attribute *attribute) noexcept nogil:
    """Set an operand to a value of the message; return False if there is none."""
    operand.allocated = NULL
    operand.is_null_constant = False
    if attribute == NULL:
        return False
    operand.kind = attribute.kind
    if attribute.kind == NUMBER:
        return set_number(operand, attribute.high, attribute.low)
    if attribute.kind == BOOL:
        operand.whole = attribute.high != 0
        return True
    if attribute.kind == STRING:
        operand.length = attribute.length
        operand.text = <const uint8_t *> attribute.text if attribute.length else <const uint8_t *> b""
        return True
    return attribute.kind == NULL_VALUE
