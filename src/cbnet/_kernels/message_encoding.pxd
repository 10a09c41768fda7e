"""Encoded messages: what producers write and matchers read. No function here needs the GIL.

A batch holds the attributes of many messages in one array. Attributes that no filter uses are left out,
whatever they hold; a tag is an attribute of its own kind; an attribute with several values occurs several times.

    attributes  │ dest price #vip │ price │ │ items.n items.n …
    offsets     0                 3       4 4
    elements                                  items[0] items[1]

An element is an object or array inside an array. Values in different elements of one array are not compatible:
they cannot satisfy a filter together.

`dict_encoding`, `json_encoding` and `column_encoding` write batches, with `begin_message` and `push`; `drop_message`
takes back a message that turns out to be wrong. A reader of frames needs no batch: it looks its names up with
`find_hashed`, and gives the attributes to `set_single`. Texts are not copied: they must live as long as the attributes
are read.
"""

from libc.math cimport isfinite
from libc.stdint cimport INT64_MAX, int16_t, int64_t, uint8_t, uint32_t

cdef enum Kind:  # as `language.values.ValueType`, and tags
    BOOL = 0
    NUMBER = 1
    STRING = 2
    NULL_VALUE = 3
    TAG = 4

cdef struct Attribute:
    uint32_t symbol
    uint32_t length        # of the string
    const char *text       # of the string, UTF-8, not terminated
    double high            # the number, or its nearest float; of a bool, 0 or 1
    int16_t low            # distance of an int from its nearest float
    uint8_t kind
    uint32_t element       # index + 1 in the elements of the batch; 0: in no array

cdef inline void set_bool(Attribute *attribute, bint value) noexcept nogil:
    attribute.kind, attribute.high = BOOL, value != 0

cdef inline void set_int(Attribute *attribute, int64_t number) noexcept nogil:
    """Write an int as its nearest float and the distance from it."""
    attribute.kind = NUMBER
    attribute.high = <double> number
    if attribute.high >= 9223372036854775808.0:  # the nearest float does not fit in 64 bits
        attribute.low = <int16_t> (number - INT64_MAX - 1)
    else:
        attribute.low = <int16_t> (number - <int64_t> attribute.high)

cdef inline bint set_float(Attribute *attribute, double number) noexcept nogil:
    """Write a float, -0.0 as 0.0; return whether it is finite, so a value."""
    attribute.kind, attribute.low = NUMBER, 0
    attribute.high = number + 0.0
    return isfinite(number) != 0

cdef inline void set_text(Attribute *attribute, const char *text, uint32_t length) noexcept nogil:
    attribute.kind, attribute.text, attribute.length = STRING, text, length

cdef inline void set_null(Attribute *attribute) noexcept nogil:
    attribute.kind = NULL_VALUE

cdef struct Element:       # an object or array inside an array
    uint32_t parent        # the element around it: index + 1; 0: none
    uint32_t array         # number of the array that it lies in
    uint32_t depth         # number of elements around it

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
    cdef int64_t *offsets                   # and one more, which ends the attributes of the last message
    cdef uint8_t *is_nested                 # per message: it has objects or arrays, perhaps several values
    cdef Element *elements
    cdef readonly Py_ssize_t count          # of messages
    cdef Py_ssize_t used, room, message_room
    cdef uint32_t element_count, element_room, arrays
    cdef object kept                        # owner of the strings
    cdef readonly list undecided            # message and target of each search that was given up, in any order
    cdef bint begin_message(self) noexcept nogil
    cdef void drop_message(self) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef Attribute *push(self, uint32_t symbol) noexcept nogil
    cdef uint32_t push_element(self, uint32_t parent, uint32_t array) noexcept nogil
    cdef bint reserve(self, Py_ssize_t messages, Py_ssize_t attributes) noexcept nogil
