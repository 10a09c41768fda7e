"""Shapes: sets of values of one attribute, as flat arrays.

All values that occur are ranked in one order, null, bools, numbers, strings, and a shape is

    low ●───────first────────last───────( high      an interval of ranks of one type, closed below and
                                                    open above, two sample members, and for strings
                                                    texts that every member contains

A finite shape has its smallest and largest member as ends; only the caller knows the members between them.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    #define MIX 0x9E3779B97F4A7C15ULL
    #define EMPTY 0xFFFFFFFFU   /* first of a shape without members */
    #define ANY 0xFFFFFFFEU     /* first of a shape of all values of all types */
    #define NO_TEXT 0xFFFFFFFFU
    #define FINITE 2            /* in `bounded`: a list of values */
    #define VALUE_BITS 0xFFFFFF0000000000ULL
    """
    const uint64_t MIX, VALUE_BITS
    const uint32_t EMPTY, ANY, NO_TEXT, FINITE

cdef enum Asks:
    ALL, BETWEEN, AMONG, NOT_NULL, OTHER_THAN, ENDS_WITH, CONTAINS

cdef enum Answer:
    NO, YES, UNDECIDED

cdef struct Text:
    const char *data
    size_t length

cdef class PackedShapes:
    cdef const uint8_t[::1] asks, bounded
    cdef const uint32_t[::1] operands, lows, highs, firsts, lasts, stems, suffixes
    cdef const uint32_t[::1] excluded_offsets, excluded, piece_offsets, pieces
    cdef const uint8_t[::1] text_data
    cdef const uint64_t[::1] text_offsets
    cdef uint32_t numbers, strings, end
    cdef uint64_t *signatures

    cdef uint64_t _signature(self, Py_ssize_t shape) noexcept nogil
    cdef uint64_t needed(self, uint32_t wide) noexcept nogil
    cdef Answer contained(self, uint32_t wide, uint32_t narrow) noexcept nogil
    cdef Answer _sticks_out(self, uint32_t wide, uint32_t narrow) noexcept nogil
    cdef bint _is_thin(self, uint32_t low, uint32_t high) noexcept nogil
    cdef bint _is_point(self, uint32_t shape) noexcept nogil
    cdef bint _holds(self, uint32_t shape, uint32_t value) noexcept nogil
    cdef Answer _all_have(self, uint32_t shape, Text asked, bint at_end) noexcept nogil
    cdef Text _text(self, uint32_t rank) noexcept nogil
    cdef int _type(self, uint32_t rank) noexcept nogil
