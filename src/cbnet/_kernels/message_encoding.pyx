"""Encoding of messages, from dicts or Arrow columns.

A batch holds the attributes of many messages in one array. Attributes that no filter uses are left out;
a tag is an attribute of its own kind.

    attributes  │ dest price #vip │ price │ │ dest …
    offsets     0                 3       4 4
"""

from cpython.bool cimport PyBool_Check
from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.math cimport isfinite
from libc.stdint cimport INT64_MAX, int32_t
from libc.string cimport memcmp, memcpy

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *length) except NULL

cdef extern from *:
    """
    #define MIX 0x9E3779B97F4A7C15ULL
    #define LAST_MIX 0xBF58476D1CE4E5B9ULL
    """
    const uint64_t MIX
    const uint64_t LAST_MIX


cdef uint64_t hash_bytes(const char *text, Py_ssize_t length, uint64_t seed) noexcept nogil:
    """Return a hash of all bytes, read eight at a time."""
    cdef uint64_t state = seed ^ (<uint64_t> length * MIX)
    cdef uint64_t chunk
    cdef Py_ssize_t at = 0
    while at + 8 <= length:
        memcpy(&chunk, text + at, 8)
        state = (state ^ chunk) * MIX
        state ^= state >> 29
        at += 8
    if at < length:
        chunk = 0
        memcpy(&chunk, text + at, length - at)
        state = (state ^ chunk) * MIX
        state ^= state >> 29
    state *= LAST_MIX
    return state ^ (state >> 32)


cdef class Symbols:
    """The symbol of each name and tag: an open hash table over texts.

        slots    0 │ 4 │ 0 │ 1 │ 2 │ …     their number is a power of two; 0 is free, else symbol + 1

    A text is searched from slot `hash & mask` on, up to a free slot. Names and tags are hashed
    with different seeds; symbols below `names` are names.
    """

    def __init__(self, data, offsets, slots, names):
        self.data = data
        self.offsets = offsets
        self.slots = slots
        self.names = names
        self.count = len(offsets) - 1

    cdef int64_t find(self, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil:
        """Return the symbol of a name or tag, or -1."""
        cdef uint64_t mask = <uint64_t> self.slots.shape[0] - 1
        cdef uint64_t slot = hash_bytes(text, length, is_tag) & mask
        cdef uint32_t symbol, start, end
        cdef Py_ssize_t probes
        for probes in range(self.slots.shape[0]):
            symbol = self.slots[slot]
            if symbol == 0:
                return -1
            symbol -= 1
            if symbol < self.count and (symbol >= self.names) == is_tag:
                start, end = self.offsets[symbol], self.offsets[symbol + 1]
                if end <= <uint64_t> self.data.shape[0] and start <= end and end - start == length:
                    if length == 0 or memcmp(&self.data[start], text, length) == 0:
                        return symbol
            slot = (slot + 1) & mask
        return -1

    def symbol(self, str text, bint is_tag):
        """Return the symbol of a name or tag, or -1."""
        cdef Py_ssize_t length
        cdef const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length)
        return self.find(utf8, length, is_tag)


def fill_slots(const uint8_t[::1] data, const uint32_t[::1] offsets, uint32_t names, uint32_t[::1] slots):
    """Insert all texts into the empty `slots`: uint32, a power of two greater than the number of texts."""
    cdef uint64_t mask = <uint64_t> slots.shape[0] - 1
    cdef uint64_t slot
    cdef uint32_t symbol
    cdef const char *text
    cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
    with nogil:
        for symbol in range(<uint32_t> (offsets.shape[0] - 1)):
            text = <const char *> first + offsets[symbol]
            slot = hash_bytes(text, offsets[symbol + 1] - offsets[symbol], symbol >= names) & mask
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = symbol + 1


cdef class Batch:
    """The attributes of many messages, encoded."""

    def __cinit__(self):
        self.attributes = NULL
        self.offsets = NULL
        self.count = self.used = self.room = self.message_room = 0
        self.kept = []
        self.begin_message()
        self.count = 0

    def __dealloc__(self):
        PyMem_RawFree(self.attributes)
        PyMem_RawFree(self.offsets)

    def __len__(self):
        return self.count

    def clear(self):
        """Remove all messages and keep the memory."""
        self.count = 0
        self.used = 0
        self.offsets[0] = 0
        self.kept = []

    cdef int begin_message(self) except -1:
        """Begin the next message."""
        cdef void *larger
        if self.count + 2 > self.message_room:
            self.message_room = 2 * self.message_room + 64
            larger = PyMem_RawRealloc(self.offsets, self.message_room * sizeof(int64_t))
            if larger == NULL:
                raise MemoryError
            self.offsets = <int64_t *> larger
        if self.count == 0:
            self.offsets[0] = 0
        self.count += 1
        self.offsets[self.count] = self.used
        return 0

    cdef int push(self, Attribute attribute) except -1:
        """Add an attribute to the last message."""
        cdef void *larger
        if self.used == self.room:
            self.room = 2 * self.room + 64
            larger = PyMem_RawRealloc(self.attributes, self.room * sizeof(Attribute))
            if larger == NULL:
                raise MemoryError
            self.attributes = <Attribute *> larger
        self.attributes[self.used] = attribute
        self.used += 1
        self.offsets[self.count] = self.used
        return 0

    cdef int push_members(self, Symbols symbols, dict members) except -1:
        """Add a message from its JSON form. Return 0 if it is not plain and valid.

        The strings belong to `members`, which must live as long as they are read.
        """
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t place = 0
        cdef Py_ssize_t length
        cdef const char *name
        cdef int64_t symbol
        cdef Attribute attribute
        self.begin_message()
        while PyDict_Next(members, &place, &key, &value):
            if not PyUnicode_CheckExact(<object> key):
                return 0
            name = PyUnicode_AsUTF8AndSize(<object> key, &length)
            if length == 1 and name[0] == b"#":
                if not self._push_tags(symbols, <object> value):
                    return 0
                continue
            symbol = symbols.find(name, length, False)
            if not read_value(<object> value, &attribute):
                return 0
            if symbol >= 0:
                attribute.symbol = <uint32_t> symbol
                self.push(attribute)
        return 1

    cdef int _push_tags(self, Symbols symbols, object tags) except -1:
        cdef Attribute attribute
        cdef Py_ssize_t length
        cdef const char *text
        cdef int64_t symbol
        attribute.kind = TAG
        if type(tags) is not list and type(tags) is not tuple and type(tags) is not set and type(tags) is not frozenset:
            return 0
        for tag in tags:
            if not PyUnicode_CheckExact(tag):
                return 0
            text = PyUnicode_AsUTF8AndSize(tag, &length)
            symbol = symbols.find(text, length, True)
            if symbol >= 0:
                attribute.symbol = <uint32_t> symbol
                self.push(attribute)
        return 1

    def add(self, Symbols symbols, dict members):
        """Add a message from its JSON form; return whether it was plain and valid."""
        self.kept.append(members)
        return self.push_members(symbols, members) == 1


cdef bint read_value(object value, Attribute *attribute) except -1:
    """Read a value; return False if it is not plain and valid."""
    cdef int overflow
    cdef long long number
    cdef Py_ssize_t length
    if PyUnicode_CheckExact(value):
        attribute.kind = STRING
        attribute.text = PyUnicode_AsUTF8AndSize(value, &length)
        attribute.length = <uint32_t> length
        return length < 0xFFFFFFFF
    if PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        split_int(number, attribute)
        return overflow == 0
    if PyFloat_CheckExact(value):
        attribute.kind = NUMBER
        attribute.high = PyFloat_AS_DOUBLE(value) + 0.0
        attribute.low = 0
        return isfinite(attribute.high) != 0
    if PyBool_Check(value):
        attribute.kind = BOOL
        attribute.high = value is True
        return True
    return False


cdef inline void split_int(int64_t number, Attribute *attribute) noexcept nogil:
    """Write an int as its nearest float and the distance from it."""
    attribute.kind = NUMBER
    attribute.high = <double> number
    if attribute.high >= 9223372036854775808.0:  # the nearest float does not fit in 64 bits
        attribute.low = <int16_t> (number - INT64_MAX - 1)
    else:
        attribute.low = <int16_t> (number - <int64_t> attribute.high)


# --- Arrow columns ---------------------------------------------------------------------------

cdef inline bint _is_valid(const uint8_t *bits, int64_t place) noexcept nogil:
    return bits == NULL or (bits[place >> 3] >> (place & 7)) & 1


def fill_from_columns(Batch batch, Py_ssize_t rows, list columns):
    """Fill an empty batch from columns, each (symbol, type, validity, data, text, first row).

    type: "b" bits, "i" int64, "d" float64, "s" strings with int32 offsets, "t" rows of tags, as
    int32 offsets into symbols (int64 in `text`; -1 for tags that no filter uses).
    The addresses belong to buffers that the caller keeps alive as long as the batch is read.
    """
    cdef Py_ssize_t row, total
    cdef int64_t *offsets
    cdef int64_t *cursor
    while batch.count < rows:
        batch.begin_message()
    offsets = batch.offsets
    for row in range(rows + 1):
        offsets[row] = 0
    for column in columns:
        _count(column, rows, offsets)
    for row in range(rows):
        offsets[row + 1] += offsets[row]
    total = offsets[rows]
    batch.room = total + 1
    batch.used = total
    batch.attributes = <Attribute *> PyMem_RawRealloc(batch.attributes, batch.room * sizeof(Attribute))
    cursor = <int64_t *> PyMem_RawRealloc(NULL, (rows + 1) * sizeof(int64_t))
    if batch.attributes == NULL or cursor == NULL:
        PyMem_RawFree(cursor)
        raise MemoryError
    memcpy(cursor, offsets, (rows + 1) * sizeof(int64_t))
    for column in columns:
        _fill(column, rows, batch.attributes, cursor)
    PyMem_RawFree(cursor)


cdef void _count(tuple column, Py_ssize_t rows, int64_t *offsets):
    cdef const uint8_t *valid = <const uint8_t *> <size_t> column[2]
    cdef const int32_t *starts = <const int32_t *> <size_t> column[3]
    cdef const int64_t *symbols = <const int64_t *> <size_t> column[4]
    cdef int64_t first = column[5]
    cdef bint is_tags = column[1] == "t"
    cdef Py_ssize_t row
    cdef int32_t at
    with nogil:
        for row in range(rows):
            if _is_valid(valid, first + row):
                if not is_tags:
                    offsets[row + 1] += 1
                    continue
                for at in range(starts[first + row], starts[first + row + 1]):
                    offsets[row + 1] += symbols[at] >= 0


cdef void _fill(tuple column, Py_ssize_t rows, Attribute *attributes, int64_t *cursor):
    cdef const uint8_t *valid = <const uint8_t *> <size_t> column[2]
    cdef size_t data = column[3]
    cdef const char *text = <const char *> <size_t> column[4]
    cdef int64_t first = column[5]
    cdef uint32_t symbol = column[0]
    cdef int kind = ord(column[1])
    cdef Py_ssize_t row
    cdef int64_t place
    cdef int32_t at
    cdef Attribute *attribute
    with nogil:
        for row in range(rows):
            place = first + row
            if not _is_valid(valid, place):
                continue
            if kind == c't':
                for at in range((<const int32_t *> data)[place], (<const int32_t *> data)[place + 1]):
                    if (<const int64_t *> text)[at] >= 0:
                        attribute = attributes + cursor[row]
                        cursor[row] += 1
                        attribute.symbol = <uint32_t> (<const int64_t *> text)[at]
                        attribute.kind = TAG
                continue
            attribute = attributes + cursor[row]
            cursor[row] += 1
            attribute.symbol = symbol
            if kind == c'i':
                split_int((<const int64_t *> data)[place], attribute)
            elif kind == c'd':
                attribute.kind = NUMBER
                attribute.high = (<const double *> data)[place] + 0.0
                attribute.low = 0
            elif kind == c's':
                attribute.kind = STRING
                at = (<const int32_t *> data)[place]
                attribute.text = text + at
                attribute.length = <uint32_t> ((<const int32_t *> data)[place + 1] - at)
            else:
                attribute.kind = BOOL
                attribute.high = ((<const uint8_t *> data)[place >> 3] >> (place & 7)) & 1
