"""Evaluation of compiled conditions without the GIL, and the names that they contain. `condition_codes.pxd` draws the code."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from cbnet._kernels.message_encoding cimport Attribute

cdef struct Mention:
    uint8_t operation       # ATTRIBUTE, PRESENCE or HAS_TAG
    const char *text        # the name or tag, in the code
    uint32_t length

cdef Py_ssize_t next_mention(const uint8_t *code, Py_ssize_t length, Py_ssize_t at, Mention *mention) noexcept nogil

cdef struct Scope:
    # What a condition can read of a message. `bound` returns the value bound to an attribute, or NULL;
    # `has` returns whether the whole message has an attribute or a tag. Steps of patterns are counted down from `work`:
    # below zero the evaluation was given up, and its answer means nothing.
    void *context
    const Attribute *(*bound)(void *context, const char *name, Py_ssize_t length) noexcept nogil
    bint (*has)(void *context, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil
    int64_t work

cdef bint condition_holds(const uint8_t *code, Py_ssize_t length, Scope *scope) noexcept nogil
