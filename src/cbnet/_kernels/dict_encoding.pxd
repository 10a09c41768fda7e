"""Encoding of messages from dicts."""

from cpython.bool cimport PyBool_Check
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int64_t, uint32_t, uint64_t

from cbnet._kernels.message_encoding cimport Attribute, Batch
from cbnet._kernels.symbol_table cimport Symbols

cdef bint read_value(object value, Attribute *attribute) except -1

cdef inline bint is_scalar(object value) noexcept:
    """Return whether a value has one of the plain types of values."""
    return (PyUnicode_CheckExact(value) or PyLong_CheckExact(value) or PyFloat_CheckExact(value) or PyBool_Check(value)
            or value is None)

cdef struct Place:         # of a value inside a message
    int64_t symbol         # -1: no filter uses the path
    uint64_t hash          # of the path
    Py_ssize_t length      # of the path
    uint32_t element
    uint32_t depth         # of the container that holds the value
    bint is_object         # some filter uses a longer path

cdef class DictEncoder:
    cdef readonly Batch batch
    cdef Symbols symbols
    cdef bint has_dotted                    # key below the top of the last message
    cdef char *path
    cdef Py_ssize_t path_room
    cdef int encode_alone(self, object message) except -1
    cdef int encode(self, object message) except -1
    cdef int _push(self, int64_t symbol, uint32_t element, const Attribute *value) except -1
    cdef uint32_t _push_element(self, uint32_t parent, uint32_t array) except 0
    cdef int _push_members(self, dict members) except -1
    cdef int _has_dotted_key(self, dict members) except -1
    cdef int _push_tags(self, object tags) except -1
    cdef int _push_leaves(self, dict leaves, object tags) except -1
    cdef uint32_t _push_chain(self, dict known, tuple chain) except? 0xFFFFFFFF
    cdef int _set_path(self, Py_ssize_t start, const char *key, Py_ssize_t length) except -1
    cdef int _push_nested(self, object value, Place place) except -1
    cdef int _push_object(self, dict members, Place place) except -1
    cdef int _push_list(self, object items, Place place) except -1
