"""Encoded messages, and the hash table from names and tags to symbols."""

from libc.stdint cimport int16_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum Kind:
    BOOL = 0
    NUMBER = 1
    STRING = 2
    TAG = 3

cdef struct Attribute:
    uint32_t symbol
    uint32_t length        # of the string
    const char *text       # of the string, UTF-8, not terminated
    double high            # the number, or its nearest float; of a bool, 0 or 1
    int16_t low            # distance of an int from its nearest float
    uint8_t kind

cdef uint64_t hash_bytes(const char *text, Py_ssize_t length, uint64_t seed) noexcept nogil

cdef bint read_value(object value, Attribute *attribute) except -1

cdef class Symbols:
    cdef const uint8_t[::1] data
    cdef const uint32_t[::1] offsets
    cdef const uint32_t[::1] slots
    cdef readonly uint32_t names
    cdef readonly uint32_t count
    cdef int64_t find(self, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil

cdef class Batch:
    cdef Attribute *attributes
    cdef int64_t *offsets
    cdef readonly Py_ssize_t count          # of messages
    cdef Py_ssize_t used, room, message_room
    cdef object kept                        # owner of the strings
    cdef int begin_message(self) except -1
    cdef int push(self, Attribute attribute) except -1
    cdef int _push_tags(self, Symbols symbols, object tags) except -1
    cdef int push_members(self, Symbols symbols, dict members) except -1
