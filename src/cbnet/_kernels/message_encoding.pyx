"""Encoding of messages from dicts.

A batch holds the attributes of many messages in one array. Attributes that no filter uses are left out,
whatever they hold; a tag is an attribute of its own kind; an attribute with several values occurs several times.

    attributes  │ dest price #vip │ price │ │ items.n items.n …
    offsets     0                 3       4 4
    elements                                  items[0] items[1]

An element is an object or array inside an array. Values in different elements of one array are not compatible:
they cannot satisfy a filter together.
"""

from cpython.bool cimport PyBool_Check
from cpython.dict cimport PyDict_CheckExact, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.list cimport PyList_CheckExact
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact
from libc.math cimport isfinite
from libc.string cimport memchr, memcmp, memcpy

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

cdef enum:
    MAX_DEPTH = 64  # levels of objects and arrays, as in `language.leaves`


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


cdef inline bint _has_text(const SymbolTable *table, uint32_t symbol, const char *text, Py_ssize_t length) noexcept nogil:
    cdef uint32_t own
    cdef const char *name = symbol_text(table, symbol, &own)
    return own == length and memcmp(name, text, length) == 0


cdef int64_t find_symbol(const SymbolTable *table, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil:
    """Return the symbol of a name or tag, or -1."""
    return find_hashed(table, text, length, is_tag, hash_bytes(text, length, is_tag))


cdef int64_t find_hashed(const SymbolTable *table, const char *text, Py_ssize_t length, bint is_tag,
                         uint64_t hash) noexcept nogil:
    """Return the symbol of a name or tag whose hash is known, or -1."""
    cdef uint64_t mask = table.slot_count - 1
    cdef uint64_t slot = hash & mask
    cdef uint64_t probes
    cdef uint32_t symbol
    for probes in range(table.slot_count):
        symbol = table.slots[slot]
        if symbol == 0:
            return -1
        symbol -= 1
        if symbol < table.count and (symbol >= table.names) == is_tag and _has_text(table, symbol, text, length):
            return symbol
        slot = (slot + 1) & mask
    return -1


cdef class Symbols:
    """The symbol of each name and tag: an open hash table over texts.

        slots    0 │ 4 │ 0 │ 1 │ 2 │ …     their number is a power of two; 0 is free, else symbol + 1

    A text is searched from slot `hash & mask` on, up to a free slot. Names and tags are hashed
    with different seeds; symbols below `names` are names.

    A second table has the names that contain a dot, and the objects that they lie in: `detail` and
    `detail.user` for the name `detail.user.id`. Its hash is extended from the path of an object to that of a
    member, so the cost of a nested message does not grow with the length of its paths. It is built for the
    first nested message.
    """

    def __cinit__(self):
        self.paths = NULL

    def __dealloc__(self):
        PyMem_RawFree(self.paths)

    def __init__(self, const uint8_t[::1] data, const uint32_t[::1] offsets, const uint32_t[::1] slots, uint32_t names):
        self.kept = data, offsets, slots
        self.table.data = &data[0] if data.shape[0] else <const uint8_t *> b""
        self.table.bytes = <uint64_t> data.shape[0]
        self.table.offsets = &offsets[0]
        self.table.slots = &slots[0]
        self.table.slot_count = <uint64_t> slots.shape[0]
        self.table.names = self.names = names
        self.table.count = self.count = <uint32_t> (offsets.shape[0] - 1)

    cdef int64_t find(self, const char *text, Py_ssize_t length, bint is_tag) noexcept nogil:
        """Return the symbol of a name or tag, or -1."""
        return find_symbol(&self.table, text, length, is_tag)

    def symbol(self, str text, bint is_tag):
        """Return the symbol of a name or tag, or -1."""
        cdef Py_ssize_t length
        cdef const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length)
        return self.find(utf8, length, is_tag)

    def is_object(self, str path):
        """Return whether a filter uses an attribute of an object at a path."""
        cdef Py_ssize_t length
        cdef const char *text = PyUnicode_AsUTF8AndSize(path, &length)
        return self.path_slot(extended_hash(0, text, length)).is_object != 0

    cdef Path *path_slot(self, uint64_t key) except NULL:
        """Return the entry of a path, or a free one."""
        cdef uint64_t slot
        if self.paths == NULL:
            self._open_paths()
        slot = key & self.path_mask
        while self.paths[slot].key != 0 and self.paths[slot].key != key:
            slot = (slot + 1) & self.path_mask
        return &self.paths[slot]

    cdef int _open_paths(self) except -1:
        """Enter every dotted name and the objects that it lies in."""
        cdef const SymbolTable *table = &self.table
        cdef uint32_t names = min(table.names, table.count)
        cdef uint64_t room = 16
        cdef uint32_t symbol, at
        for symbol in range(names):
            for at in range(table.offsets[symbol], min(<uint64_t> table.offsets[symbol + 1], table.bytes)):
                room += 4 * (table.data[at] == c".")
        while room & (room - 1):
            room += room & -room
        self.paths = <Path *> PyMem_RawCalloc(room, sizeof(Path))
        if self.paths == NULL:
            raise MemoryError
        self.path_mask = room - 1
        for symbol in range(names):
            self._enter_paths(symbol)
        return 0

    cdef int _enter_paths(self, uint32_t symbol) except -1:
        cdef const char *text = <const char *> self.table.data
        cdef uint32_t start = self.table.offsets[symbol]
        cdef uint32_t end = <uint32_t> min(<uint64_t> self.table.offsets[symbol + 1], self.table.bytes)
        cdef uint64_t key = 0
        cdef bint has_dot = False
        cdef uint32_t at
        cdef Path *entry
        for at in range(start, end):
            if text[at] == c".":
                key = extended_hash(key, text + start, at - start)
                entry = self.path_slot(key)
                entry.key = key
                entry.is_object = 1
                start = at
                has_dot = True
        if has_dot:
            key = extended_hash(key, text + start, end - start)
            entry = self.path_slot(key)
            entry.key = key
            entry.symbol = symbol + 1
        return 0


cdef inline uint64_t extended_hash(uint64_t hash, const char *text, Py_ssize_t length) noexcept nogil:
    """Return the hash of a path and a text after it, never 0; the hash of the empty path is 0."""
    cdef Py_ssize_t at
    for at in range(length):
        hash = (hash ^ <uint8_t> text[at] ^ 0x5BD1E995) * MIX
        hash ^= hash >> 32
    return hash if hash else 1


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
        self.is_nested = NULL
        self.elements = NULL
        self.path = NULL
        self.count = self.used = self.room = self.message_room = self.path_room = 0
        self.element_count = self.element_room = self.arrays = 0
        self.kept = []
        self.begin_message()
        self.count = 0

    def __dealloc__(self):
        PyMem_RawFree(self.attributes)
        PyMem_RawFree(self.offsets)
        PyMem_RawFree(self.is_nested)
        PyMem_RawFree(self.elements)
        PyMem_RawFree(self.path)

    def __len__(self):
        return self.count

    def clear(self):
        """Remove all messages and keep the memory."""
        self.count = 0
        self.used = 0
        self.element_count = self.arrays = 0
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
            larger = PyMem_RawRealloc(self.is_nested, self.message_room)
            if larger == NULL:
                raise MemoryError
            self.is_nested = <uint8_t *> larger
        if self.count == 0:
            self.offsets[0] = 0
        self.is_nested[self.count] = 0
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

    cdef uint32_t _push_element(self, uint32_t parent, uint32_t array) except 0:
        """Add an element of an array; return its index + 1."""
        cdef void *larger
        if self.element_count == self.element_room:
            self.element_room = 2 * self.element_room + 64
            larger = PyMem_RawRealloc(self.elements, self.element_room * sizeof(Element))
            if larger == NULL:
                raise MemoryError
            self.elements = <Element *> larger
        self.elements[self.element_count].parent = parent
        self.elements[self.element_count].array = array
        self.elements[self.element_count].depth = self.elements[parent - 1].depth + 1 if parent else 0
        self.element_count += 1
        return self.element_count

    cdef int push_members(self, Symbols symbols, dict members) except -1:
        """Add a message from its JSON form. Return 0 if a value that a filter uses is not plain and valid.

        Also 0 if it has elements beside dotted keys: these may have to be merged first, see `push_leaves`.
        The strings belong to `members`, which must live as long as they are read.
        """
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t length
        cdef const char *name
        cdef int64_t symbol
        cdef Attribute attribute
        cdef Place place
        cdef uint32_t elements = self.element_count
        self.begin_message()
        self.has_dotted = False
        attribute.element = 0
        while PyDict_Next(members, &at, &key, &value):
            if not PyUnicode_CheckExact(<object> key):
                return 0
            name = PyUnicode_AsUTF8AndSize(<object> key, &length)
            if length == 1 and name[0] == b"#":
                if symbols.count > symbols.names and not self._push_tags(symbols, <object> value):
                    return 0
                continue
            symbol = symbols.find(name, length, False)
            if symbol >= 0 and read_value(<object> value, &attribute):
                attribute.symbol = <uint32_t> symbol
                self.push(attribute)
            elif symbol >= 0 or not is_scalar(<object> value):
                place.symbol = symbol
                place.hash = extended_hash(0, name, length)
                place.is_object = symbols.path_slot(place.hash).is_object
                if symbol < 0 and not place.is_object:
                    continue
                place.length = self._set_path(0, name, length)
                place.element = 0
                place.depth = 1
                if not self._push_nested(symbols, <object> value, place):
                    return 0
        if self.element_count > elements:
            at = 0
            while PyDict_Next(members, &at, &key, &value):
                name = PyUnicode_AsUTF8AndSize(<object> key, &length)
                self.has_dotted |= memchr(name, c".", length) != NULL
            return not self.has_dotted
        return 1

    cdef int _set_path(self, Py_ssize_t start, const char *key, Py_ssize_t length) except -1:
        """Write a key at an offset of the current path; return the new length of the path."""
        cdef void *larger
        if start + length > self.path_room:
            self.path_room = 2 * (start + length) + 64
            larger = PyMem_RawRealloc(self.path, self.path_room)
            if larger == NULL:
                raise MemoryError
            self.path = <char *> larger
        memcpy(self.path + start, key, length)
        return start + length

    cdef int _push_nested(self, Symbols symbols, object value, Place place) except -1:
        """Add the leaves of an object or array; return 0 if it is something else, or not valid."""
        self.is_nested[self.count - 1] = 1
        place.depth += 1
        if place.depth > MAX_DEPTH:
            return 0
        if PyDict_CheckExact(value):
            return self._push_object(symbols, <dict> value, place) if place.is_object else 1
        if PyList_CheckExact(value) or PyTuple_CheckExact(value):
            return self._push_list(symbols, value, place)
        return 0

    cdef int _push_object(self, Symbols symbols, dict members, Place place) except -1:
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t length
        cdef const char *name
        cdef Place member
        cdef Path *entry
        cdef Attribute attribute
        attribute.element = place.element
        self._set_path(place.length, ".", 1)
        place.hash = extended_hash(place.hash, ".", 1)
        while PyDict_Next(members, &at, &key, &value):
            if not PyUnicode_CheckExact(<object> key):
                return 0
            name = PyUnicode_AsUTF8AndSize(<object> key, &length)
            self.has_dotted |= memchr(name, c".", length) != NULL
            member = place
            member.hash = extended_hash(place.hash, name, length)
            entry = symbols.path_slot(member.hash)
            if entry.key == 0:
                continue
            member.length = self._set_path(place.length + 1, name, length)
            member.symbol = -1
            member.is_object = entry.is_object
            if entry.symbol and _has_text(&symbols.table, entry.symbol - 1, self.path, member.length):
                member.symbol = entry.symbol - 1
                if read_value(<object> value, &attribute):
                    attribute.symbol = <uint32_t> member.symbol
                    self.push(attribute)
                    continue
            elif is_scalar(<object> value):
                continue
            if not self._push_nested(symbols, <object> value, member):
                return 0
        return 1

    cdef int _push_list(self, Symbols symbols, object items, Place place) except -1:
        cdef uint32_t outer = place.element
        cdef Attribute attribute
        cdef uint32_t array
        self.arrays += 1
        array = self.arrays
        attribute.symbol = <uint32_t> place.symbol
        attribute.element = outer
        for item in items:
            if is_scalar(item):
                if place.symbol >= 0:
                    if not read_value(item, &attribute):
                        return 0
                    self.push(attribute)
                continue
            if PyDict_CheckExact(item) and not place.is_object:
                continue
            place.element = self._push_element(outer, array)
            if not self._push_nested(symbols, item, place):
                return 0
        return 1

    cdef int push_message(self, Symbols symbols, object message) except -1:
        """Add a message from its JSON form, a dict, or from a tuple of its leaves and tags."""
        if PyDict_CheckExact(message):
            return self.push_members(symbols, <dict> message)
        return self.push_leaves(symbols, message[0], message[1])

    cdef int push_leaves(self, Symbols symbols, dict leaves, object tags) except -1:
        """Add a message from the leaves of each attribute and its tags; return 0 if a value is not plain.

        leaves: name -> pairs of value and element, as in `language.leaves`. They must live as long as the batch.
        """
        cdef Py_ssize_t length
        cdef const char *text
        cdef int64_t symbol
        cdef Attribute attribute
        cdef dict known = {}
        self.begin_message()
        self.is_nested[self.count - 1] = 1
        for name, values in leaves.items():
            text = PyUnicode_AsUTF8AndSize(name, &length)
            symbol = symbols.find(text, length, False)
            if symbol < 0:
                continue
            for value, chain in values:
                if not read_value(value, &attribute):
                    return 0
                attribute.symbol = <uint32_t> symbol
                attribute.element = self._push_chain(known, chain)
                self.push(attribute)
        return self._push_tags(symbols, tags)

    cdef uint32_t _push_chain(self, dict known, tuple chain) except? 0xFFFFFFFF:
        """Return the element of a chain of pairs of array and index: index + 1, or 0."""
        cdef uint32_t parent
        if not chain:
            return 0
        element = known.get(chain)
        if element is None:
            last = len(chain) - 1
            parent = self._push_chain(known, chain[:last])
            array = known.setdefault((parent, chain[last][0]), self.arrays + 1)
            self.arrays = max(self.arrays, <uint32_t> array)
            element = known[chain] = self._push_element(parent, array)
        return element

    cdef int _push_tags(self, Symbols symbols, object tags) except -1:
        cdef Attribute attribute
        cdef Py_ssize_t length
        cdef const char *text
        cdef int64_t symbol
        attribute.kind = TAG
        attribute.element = 0
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

    def add(self, Symbols symbols, message):
        """Add a message from its JSON form, or its leaves and tags, if it is plain and valid; return whether it is."""
        cdef bint is_added = False
        cdef Py_ssize_t before = self.count
        self.kept.append(message)
        try:
            is_added = self.push_message(symbols, message) == 1
        finally:
            if not is_added:
                self.count = before
                self.used = self.offsets[before]
        return is_added


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
    if value is None:
        attribute.kind = NULL_VALUE
        return True
    return False
