"""Tests of operands: comparison, membership of a set, address blocks."""

from libc.stdint cimport uint8_t

from cbnet._kernels.condition_codes cimport IS_FALSE, IS_TRUE
from cbnet._kernels.condition_operand cimport Operand, Reader

cdef inline int as_outcome(bint holds) noexcept nogil:
    return IS_TRUE if holds else IS_FALSE

cdef int compare(uint8_t operation, const Operand *left, const Operand *right) noexcept nogil
cdef int find_member(Reader *reader, const Operand *operand) noexcept nogil
cdef int find_address(Reader *reader, const Operand *operand) noexcept nogil
