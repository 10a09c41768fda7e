"""Evaluation of compiled conditions without the GIL. `condition_codes.pxd` draws the code."""

from libc.stdint cimport uint8_t

from cbnet._kernels.message_encoding cimport Attribute

cdef struct Scope:
    # What a condition can read of a message. `bound` returns the value bound to an attribute, or NULL;
    # `has` returns whether the whole message has an attribute or a tag.
    void *context
    const Attribute *(*bound)(void *context, const char *name, Py_ssize_t length) noexcept nogil
    bint (*has)(void *context, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil

cdef bint condition_holds(const uint8_t *code, Py_ssize_t length, const Scope *scope) noexcept nogil
