"""The tests of an uncompiled filter, in one piece of memory with the texts that they refer to.

    │ test test test │ constant constant constant │ names, tags and strings, not terminated │
      name, constants  one per test; `in` has one per member, sorted by hash

Constants are split as the values of messages are, so comparisons of ints, floats and strings are exact.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from cbnet._kernels.frame_message cimport FrameMessage
from cbnet._kernels.message_encoding cimport Attribute

cdef struct Constant:
    Attribute value
    uint64_t hash               # of the value; see `value_hash`

cdef struct MemtableTest:
    uint64_t hash               # of the name or tag
    const char *name
    uint32_t name_length
    uint32_t constant_count
    const Constant *constants
    uint8_t code                # see `test_codes`

cdef uint64_t value_hash(const Attribute *value) noexcept nogil
cdef MemtableTest *create_tests(frozenset tests, uint32_t *count) except NULL
cdef void free_tests(MemtableTest *tests) noexcept nogil
cdef bint passes_test(const MemtableTest *test, const FrameMessage *message) noexcept nogil
