"""Ranges of values of one attribute, or of outcomes of a test, and whether one contains another.

A range contains another one surely, not, or possibly: the caller decides about the last. Ends are compared by keys of
64 bits; those of strings are their first 8 bytes, and Bloom filters of pairs of bytes exclude most patterns.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint16_t, uint64_t

from cbnet._kernels.byte_strings cimport MIX
from cbnet._kernels.message_encoding cimport NUMBER, STRING
from cbnet._kernels.plain_filter cimport PlainConstraint

cdef enum:  # answers
    NO = 0
    YES = 1
    POSSIBLY = 2

cdef enum Kind:    # after the types of `message_encoding`
    MIXED = 4      # a finite set of several types
    OUTCOMES = 5   # of a test; `low` has the bits
    NOT_NULL = 6
    ANY = 7

cdef enum Flag:
    POINT = 1      # one value
    FINITE = 2     # several listed values
    EXCLUDED = 4   # some values between the ends are not members
    LOOSE = 8      # a string range whose ends are perhaps not members
    NOT_NULL_FLAG = 16
    INEXACT_LOW = 32   # the key of an end is rounded
    INEXACT_HIGH = 64
    ONE_EXCLUDED = 128  # a single value, which is known: see `needed` and `text`
    WHOLE = 256    # all values of the type, but those excluded


cdef struct Range:
    uint64_t low       # ordered keys of the ends; of strings: the first 8 bytes
    uint64_t high      # of strings: exclusive
    uint64_t members   # Bloom filter of a point or a finite set; else, of the values excluded
    uint64_t pairs     # Bloom filter of the pairs of bytes in a member that is a string
    uint64_t needed    # and in the texts that all members have; of numbers: the key of the one that is excluded
    PyObject *text     # bytes of a point; else the tuple (low, high or None, member, suffix, pieces, excluded or None)
    uint8_t kind
    uint16_t flags


cdef class CoverRange:
    cdef Range range
    cdef readonly uint64_t value  # the symbol of a point, without its name; 0: not a point
    cdef object _text


cdef inline uint64_t mixed(uint64_t number) noexcept nogil:
    number = (number + 1) * MIX
    number ^= number >> 29
    return number * MIX


cdef inline uint64_t bloom_bit(uint64_t symbol) noexcept:
    return <uint64_t> 1 << (mixed(symbol) >> 58)


cdef inline bint is_outside(const Range *wide, const Range *narrow) noexcept nogil:
    """Return whether the keys alone show that a range does not contain another; most pairs end here."""
    if wide.kind != narrow.kind or wide.kind > STRING:
        return False
    if narrow.flags & WHOLE and wide.flags & EXCLUDED and wide.members & ~narrow.members:
        return True
    # Without a branch for each key: one in two would be mispredicted.
    if wide.kind == NUMBER:
        return (wide.low > narrow.low) | (wide.high < narrow.high)
    if wide.needed & ~narrow.pairs:
        return True
    return not narrow.flags & LOOSE and (wide.low > narrow.low) | (wide.high < narrow.low)


cdef bint plain_range(const PlainConstraint *constraint, Range *range, uint64_t *value) except -1
cdef int contains(const Range *wide, const Range *narrow) except -1
