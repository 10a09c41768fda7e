"""Encoded messages, and the hash table from names and tags to symbols."""

from cpython.bool cimport PyBool_Check
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport INT64_MAX, int16_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum Kind:
    BOOL = 0
    NUMBER = 1
    STRING = 2
    TAG = 3
    NULL_VALUE = 4

cdef struct Attribute:
    uint32_t symbol
    uint32_t length        # of the string
    const char *text       # of the string, UTF-8, not terminated
    double high            # the number, or its nearest float; of a bool, 0 or 1
    int16_t low            # distance of an int from its nearest float
    uint8_t kind
    uint32_t element       # index + 1 in the elements of the batch; 0: in no array

cdef inline void split_int(int64_t number, Attribute *attribute) noexcept nogil:
    """Write an int as its nearest float and the distance from it."""
    attribute.kind = NUMBER
    attribute.high = <double> number
    if attribute.high >= 9223372036854775808.0:  # the nearest float does not fit in 64 bits
        attribute.low = <int16_t> (number - INT64_MAX - 1)
    else:
        attribute.low = <int16_t> (number - <int64_t> attribute.high)

cdef struct Element:       # an object or array inside an array
    uint32_t parent        # the element around it: index + 1; 0: none
    uint32_t array         # number of the array that it lies in
    uint32_t depth         # number of elements around it

cdef struct Path:          # of nested objects; see `Symbols`
    uint64_t key           # hash of the path; 0: free
    uint32_t symbol        # + 1; 0: not a name
    uint32_t is_object     # part of a longer name

cdef uint64_t hash_bytes(const char *text, Py_ssize_t length, uint64_t seed) noexcept nogil

cdef bint read_value(object value, Attribute *attribute) except -1

cdef inline bint is_scalar(object value) noexcept:
    """Return whether a value has one of the plain types of values."""
    return (PyUnicode_CheckExact(value) or PyLong_CheckExact(value) or PyFloat_CheckExact(value) or PyBool_Check(value)
            or value is None)

cdef struct SymbolTable:   # see `Symbols`
    const uint8_t *data
    uint64_t bytes
    const uint32_t *offsets
    const uint32_t *slots
    uint64_t slot_count
    uint32_t names
    uint32_t count

cdef inline const char *symbol_text(const SymbolTable *table, uint32_t symbol, uint32_t *length) noexcept nogil:
    """Return the text of a symbol; an empty one if a damaged file refers outside the data."""
    cdef uint32_t start = table.offsets[symbol]
    cdef uint32_t end = table.offsets[symbol + 1]
    if start > end or end > table.bytes:
        start = end = 0
    length[0] = end - start
    return <const char *> table.data + start

cdef int64_t find_symbol(const SymbolTable *table, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil
cdef int64_t find_hashed(const SymbolTable *table, const char *text, Py_ssize_t length, bint is_tag, uint64_t hash) noexcept nogil

cdef class Symbols:
    cdef object kept
    cdef SymbolTable table
    cdef readonly uint32_t names
    cdef readonly uint32_t count
    cdef Path *paths
    cdef uint64_t path_mask
    cdef int _open_paths(self) except -1
    cdef int _enter_paths(self, uint32_t symbol) except -1
    cdef Path *path_slot(self, uint64_t key) except NULL
    cdef int64_t find(self, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil

cdef struct Place:         # of a value inside a message
    int64_t symbol         # -1: no filter uses the path
    uint64_t hash          # of the path
    Py_ssize_t length      # of the path
    uint32_t element
    uint32_t depth         # of the container that holds the value
    bint is_object         # some filter uses a longer path

cdef inline bint compatible(const Element *elements, uint32_t one, uint32_t other) noexcept nogil:
    """Return whether two elements (index + 1, or 0) do not lie in different elements of one array."""
    if one == 0 or other == 0:
        return True
    while one != other:
        if elements[one - 1].depth > elements[other - 1].depth:
            one = elements[one - 1].parent
        elif elements[one - 1].depth < elements[other - 1].depth:
            other = elements[other - 1].parent
        elif elements[one - 1].parent == elements[other - 1].parent:
            return elements[one - 1].array != elements[other - 1].array
        else:
            one = elements[one - 1].parent
            other = elements[other - 1].parent
    return True

cdef class Batch:
    cdef Attribute *attributes
    cdef int64_t *offsets
    cdef uint8_t *is_nested                 # per message: it has objects or arrays, perhaps several values
    cdef Element *elements
    cdef readonly Py_ssize_t count          # of messages
    cdef Py_ssize_t used, room, message_room
    cdef uint32_t element_count, element_room, arrays
    cdef bint has_dotted                    # key below the top of the last message
    cdef char *path
    cdef Py_ssize_t path_room
    cdef object kept                        # owner of the strings
    cdef int begin_message(self) except -1
    cdef int push(self, Attribute attribute) except -1
    cdef uint32_t _push_element(self, uint32_t parent, uint32_t array) except 0
    cdef int _push_tags(self, Symbols symbols, object tags) except -1
    cdef int _set_path(self, Py_ssize_t start, const char *key, Py_ssize_t length) except -1
    cdef int _push_nested(self, Symbols symbols, object value, Place place) except -1
    cdef int _push_object(self, Symbols symbols, dict members, Place place) except -1
    cdef int _push_list(self, Symbols symbols, object items, Place place) except -1
    cdef int push_members(self, Symbols symbols, dict members) except -1
    cdef int push_message(self, Symbols symbols, object message) except -1
    cdef int push_leaves(self, Symbols symbols, dict leaves, object tags) except -1
    cdef uint32_t _push_chain(self, dict known, tuple chain) except? 0xFFFFFFFF
