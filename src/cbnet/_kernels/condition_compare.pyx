"""Tests of operands. See `condition_compare.pxd`."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from cbnet._kernels.byte_strings cimport find_bytes
from cbnet._kernels.condition_address cimport has_prefix, read_address
from cbnet._kernels.condition_codes cimport (
    DAMAGED, EQUAL, GREATER_OR_EQUAL, HAS_PREFIX, HAS_SUFFIX, IS_FALSE, IS_TRUE, IS_UNKNOWN, LESS_OR_EQUAL, UNEQUAL,
)
from cbnet._kernels.condition_operand cimport Operand, Reader, read_constant
from cbnet._kernels.message_encoding cimport BOOL, NULL_VALUE, STRING


cdef int _order(const Operand *left, const Operand *right) noexcept nogil:
    """Return a number below, equal to or above 0, as two numbers or two strings compare."""
    cdef Py_ssize_t shorter
    cdef int difference
    if left.kind == STRING:
        shorter = min(left.length, right.length)
        difference = memcmp(left.text, right.text, shorter)
        return difference if difference else (left.length > right.length) - (left.length < right.length)
    if left.is_int and right.is_int:
        return (left.whole > right.whole) - (left.whole < right.whole)
    if left.is_int:  # never equal to a float that is no int; only the nearest floats may be equal, at 2**63
        return 1 if left.real > right.real else -1
    if right.is_int:
        return -1 if left.real < right.real else 1
    return (left.real > right.real) - (left.real < right.real)


cdef bint _are_equal(const Operand *left, const Operand *right) noexcept nogil:
    """Return whether two values of the same type are equal."""
    if left.kind == NULL_VALUE:
        return True
    if left.kind == BOOL:
        return left.whole == right.whole
    return _order(left, right) == 0


cdef bint _has_part(uint8_t operation, const Operand *left, const Operand *right) noexcept nogil:
    if right.length > left.length:
        return False
    if operation == HAS_PREFIX:
        return memcmp(left.text, right.text, right.length) == 0
    if operation == HAS_SUFFIX:
        return memcmp(left.text + left.length - right.length, right.text, right.length) == 0
    return right.length == 0 or find_bytes(left.text, left.length, right.text, right.length) != NULL


cdef int compare(uint8_t operation, const Operand *left, const Operand *right) noexcept nogil:
    cdef int order
    if operation <= UNEQUAL:
        if left.is_null_constant or right.is_null_constant:
            return as_outcome((left.kind == right.kind) == (operation == EQUAL))
        if left.kind != right.kind:
            return IS_UNKNOWN
        return as_outcome(_are_equal(left, right) == (operation == EQUAL))
    if left.kind != right.kind or left.kind == BOOL or left.kind == NULL_VALUE:
        return IS_UNKNOWN
    if operation >= HAS_PREFIX:
        return as_outcome(_has_part(operation, left, right)) if left.kind == STRING else IS_UNKNOWN
    order = _order(left, right)
    if operation <= LESS_OR_EQUAL:
        return as_outcome(order < (operation == LESS_OR_EQUAL))
    return as_outcome(order > -<int> (operation == GREATER_OR_EQUAL))


cdef int find_member(Reader *reader, const Operand *operand) noexcept nogil:
    """Return true if a constant of the set is equal, else false if one has the same type."""
    cdef uint32_t count
    cdef uint8_t operation
    cdef Operand constant
    cdef int outcome = IS_UNKNOWN
    if reader.end - reader.at < 4:
        return DAMAGED
    memcpy(&count, reader.at, 4)
    reader.at += 4
    while count:
        if reader.at >= reader.end:
            return DAMAGED
        operation = reader.at[0]
        reader.at += 1
        if not read_constant(reader, operation, &constant):
            return DAMAGED
        if constant.kind == operand.kind:
            if _are_equal(operand, &constant):
                return IS_TRUE
            outcome = IS_FALSE
        count -= 1
    return outcome


cdef int find_address(Reader *reader, const Operand *operand) noexcept nogil:
    """Return whether a string is an address of the block; unknown if it is not an address."""
    cdef uint8_t address[16]
    cdef int version
    if reader.end - reader.at < 18 or reader.at[1] > (32 if reader.at[0] == 4 else 128):
        return DAMAGED
    if operand.kind != STRING:
        return IS_UNKNOWN
    version = read_address(operand.text, operand.length, address)
    if version == 0:
        return IS_UNKNOWN
    return as_outcome(version == reader.at[0] and has_prefix(address, reader.at + 2, reader.at[1]))
