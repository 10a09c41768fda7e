"""Plain filters, read from their byte form (`language.syntax.byte_form`) without an object for each constraint.

    [["dest", 0, "MXP"], ["price", 2, 500], "upgradeable"]

    constraints  │ dest 0 "MXP" │ price 2 500 │     `PlainConstraint[count]`, names ascending
    tags         │ upgradeable │                    ascending
    texts        pointers into the bytes of the filter

A plain filter has at most one constraint on a name, each an order, an equation, its contrary or a pattern; no condition; and numbers
that are floats, too. In this form its bytes are canonical, and some message matches it. Any other filter is left to
Python, which handles it, or reports the error.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp

from cbnet._kernels.message_encoding cimport Attribute

cdef enum:
    MAX_CONSTRAINTS = 32
    MAX_FILTER_TAGS = 64

cdef struct PlainText:
    const char *text    # UTF-8, not terminated
    uint32_t length

cdef inline int compared(const PlainText *left, const PlainText *right) noexcept nogil:
    """Return the order of two texts: that of their bytes, which is that of their characters."""
    cdef int order = memcmp(left.text, right.text, min(left.length, right.length))
    return order if order else <int> left.length - <int> right.length

cdef struct PlainConstraint:
    PlainText name
    Attribute constant  # a bool, a number or a string; not an empty one, unless for an equation
    uint8_t op
    bint is_int

cdef struct PlainFilter:
    PlainConstraint constraints[MAX_CONSTRAINTS]
    PlainText tags[MAX_FILTER_TAGS]
    uint32_t count
    uint32_t tag_count

cdef bint is_plain_constraint(const PlainConstraint *constraint) noexcept
cdef bint read_filter(bytes encoded, PlainFilter *filter) noexcept
cdef object constant_of(const PlainConstraint *constraint)
cdef str shared_text(const PlainText *text)
