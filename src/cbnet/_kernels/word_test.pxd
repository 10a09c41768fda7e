"""The test of a word on one value: inlined by the kernels that match filters.

Constants are shared by all engines:

    numbers, strings    sorted; the operand of a word is a rank
    set_offsets         0        3     5 …        uint32[sets + 1]; the operand of `in` is the number of a set
    set_members         │ m m m  │ m m │ …        uint64: type << 32 | rank, ascending in each set
    conditions          code of each condition; the operand of CONDITION is its number
"""

from libc.stdint cimport uint32_t, uint64_t

from cbnet._kernels.arrays cimport first_not_below
from cbnet._kernels.byte_strings cimport has_pattern
from cbnet._kernels.constant_pool cimport Numbers, Pool, Texts, text_at
from cbnet._kernels.message_encoding cimport BOOL, NULL_VALUE, NUMBER, STRING, Attribute, Element
from cbnet._kernels.symbol_table cimport SymbolTable
from cbnet._kernels.test_codes cimport *

cdef struct Constants:
    Numbers numbers
    Pool strings
    const uint32_t *set_offsets
    uint32_t set_count
    const uint64_t *set_members
    uint32_t set_total
    Texts conditions

cdef struct Leaves:             # of one message
    const Attribute *attributes
    const Element *elements
    uint32_t *slots             # per symbol: index + 1 of the first attribute, or of the bound one; 0: absent
    uint32_t *places            # per attribute: the doubled rank of its value
    uint32_t *following         # per attribute: index + 1 of the next one of its symbol; 0: none
    bint has_elements           # some attribute lies in one
    const SymbolTable *symbols
    uint32_t message_symbol     # of "#", an attribute that every message has; or the number of symbols

cdef int open_constants(Constants *constants, dict arrays) except -1
cdef void close_constants(Constants *constants) noexcept

cdef inline bint set_contains(const Constants *constants, uint32_t number, uint64_t member) noexcept nogil:
    """Return whether a set has a member."""
    cdef uint32_t first, end
    if number >= constants.set_count:
        return False
    end = min(constants.set_offsets[number + 1], constants.set_total)
    first = first_not_below(constants.set_members, constants.set_offsets[number], end, member)
    return first < end and constants.set_members[first] == member

cdef inline uint64_t member_of(const Attribute *attribute, uint32_t place) noexcept nogil:
    """Return a value as a member of sets; one that no set has if it is not a constant of the table."""
    if attribute.kind == BOOL:
        return attribute.high != 0
    if attribute.kind == NULL_VALUE:
        return <uint64_t> NULL_VALUE << 32
    return (<uint64_t> attribute.kind << 32) | (place >> 1) if place & 1 else ~<uint64_t> 0

cdef inline bint passes(const Constants *constants, const Attribute *attribute, uint32_t place, uint32_t test, uint32_t operand) noexcept nogil:
    """Return whether a value passes a test; not for tags and conditions."""
    cdef uint32_t length, bound
    cdef const char *text
    if test == EXISTS:
        return True
    if test == BOOL_EQ:
        return attribute.kind == BOOL and attribute.high == operand
    if test <= STRING_GE:
        if attribute.kind != (NUMBER if test <= NUMBER_GE else STRING):
            return False
        if test >= STRING_EQ:
            test -= STRING_EQ - NUMBER_EQ
        bound = 2 * operand + 1
        if test == NUMBER_EQ:
            return place == bound
        if test == NUMBER_NE:
            return place != bound
        if test <= NUMBER_LE:
            return place < bound + (test == NUMBER_LE)
        return place > bound - (test == NUMBER_GE)
    if test > SUBSTRING:
        if test == IN:
            return set_contains(constants, operand, member_of(attribute, place))
        return (attribute.kind == NULL_VALUE) == (test == NULL_EQ)
    if attribute.kind != STRING:
        return False
    text = text_at(&constants.strings.texts, operand, &length)
    return has_pattern(test - PREFIX, attribute.text, attribute.length, text, length)
