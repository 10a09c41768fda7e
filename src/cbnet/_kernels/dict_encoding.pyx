"""Encoding of messages from dicts, without an object per value, and a test for names that JSON text repeats."""

from cpython.dict cimport PyDict_CheckExact, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.list cimport PyList_CheckExact
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_CheckExact
from libc.string cimport memchr, memcpy

from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize
from cbnet._kernels.memory cimport resized
from cbnet._kernels.message_encoding cimport TAG, set_bool, set_float, set_int, set_null, set_text
from cbnet._kernels.symbol_table cimport Path, extended_hash, find_symbol, has_text

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1
    bint PyUnicode_IS_COMPACT_ASCII(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    const char *PyUnicode_1BYTE_DATA(object text)

cdef enum:
    MAX_DEPTH = 64  # levels of objects and arrays, as in `language.message`


cdef inline const char *_utf8(object text, Py_ssize_t *length) except NULL:
    """Return the UTF-8 of a string, which the string owns; raise UnicodeEncodeError for half of a surrogate pair."""
    if PyUnicode_IS_COMPACT_ASCII(text):
        length[0] = PyUnicode_GET_LENGTH(text)
        return PyUnicode_1BYTE_DATA(text)
    return PyUnicode_AsUTF8AndSize(text, length)


cdef bint read_value(object value, Attribute *attribute) except -1:
    """Read a value; return False if it is not plain and valid."""
    cdef int overflow
    cdef long long number
    cdef Py_ssize_t length
    cdef const char *text
    if PyUnicode_CheckExact(value):
        text = _utf8(value, &length)
        set_text(attribute, text, <uint32_t> length)
        return length < 0xFFFFFFFF
    if PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        set_int(attribute, number)
        return overflow == 0
    if PyFloat_CheckExact(value):
        return set_float(attribute, PyFloat_AS_DOUBLE(value))
    if PyBool_Check(value):
        set_bool(attribute, value is True)
        return True
    set_null(attribute)
    return value is None


cdef class DictEncoder:
    """Writes messages to a batch, for one table.

    A message is given in its JSON form, a dict, or as a tuple of its leaves and tags.
    """

    def __cinit__(self, Symbols symbols not None):
        self.batch = Batch()
        self.symbols = symbols
        self.path = NULL
        self.path_room = 0

    def __dealloc__(self):
        PyMem_RawFree(self.path)

    def add(self, message):
        """Add a message if it is plain and valid; return whether it is."""
        cdef bint is_added = False
        cdef Py_ssize_t before = self.batch.count
        self.batch.kept.append(message)
        try:
            is_added = self.encode(message) == 1
        finally:
            if not is_added and self.batch.count > before:
                self.batch.drop_message()
        return is_added

    def add_many(self, messages, Py_ssize_t first):
        """Add messages from index `first` on, up to one that is not a plain and valid dict; return its index."""
        cdef list items = list(messages)
        cdef Py_ssize_t number, before
        cdef bint is_added
        self.batch.kept.append(items)
        for number in range(first, len(items)):
            if not PyDict_CheckExact(items[number]):
                return number
            before = self.batch.count
            is_added = False
            try:
                is_added = self._push_members(<dict> items[number]) == 1
            except UnicodeEncodeError:
                pass
            finally:
                if not is_added and self.batch.count > before:
                    self.batch.drop_message()
            if not is_added:
                return number
        return len(items)

    cdef int encode_alone(self, object message) except -1:
        """Make a message the only one of the batch; return 0 if it is not plain and valid."""
        self.batch.forget()
        return self.encode(message)

    cdef int encode(self, object message) except -1:
        """Add a message, which must live as long as the batch is read; return 0 if it is not plain and valid."""
        if PyDict_CheckExact(message):
            return self._push_members(<dict> message)
        return self._push_leaves(message[0], message[1])

    cdef inline int _push(self, int64_t symbol, uint32_t element, const Attribute *value) except -1:
        cdef Attribute *attribute = self.batch.push(<uint32_t> symbol)
        if attribute == NULL:
            raise MemoryError
        attribute[0] = value[0]
        attribute.symbol, attribute.element = <uint32_t> symbol, element
        return 0

    cdef uint32_t _push_element(self, uint32_t parent, uint32_t array) except 0:
        cdef uint32_t element = self.batch.push_element(parent, array)
        if element == 0:
            raise MemoryError
        return element

    cdef int _push_members(self, dict members) except -1:
        """Add a message from its JSON form; return 0 if a value that a filter uses is not plain and valid.

        Also 0 if it has elements beside dotted keys, which may have to be merged first, or what computed attributes depend
        on: see `_push_leaves`.
        """
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t length
        cdef const char *name
        cdef int64_t symbol
        cdef Attribute attribute
        cdef Place place
        cdef uint32_t elements = self.batch.element_count
        cdef bint uses_arrays = self.symbols.uses_arrays()
        if not self.batch.begin_message():
            raise MemoryError
        self.has_dotted = False
        while PyDict_Next(members, &at, &key, &value):
            if not PyUnicode_CheckExact(<object> key):
                return 0
            name = _utf8(<object> key, &length)
            if length == 1 and name[0] == b"#":
                if self.symbols.count > self.symbols.names and not self._push_tags(<object> value):
                    return 0
                continue
            if uses_arrays and self.symbols.is_root(name, length):
                return 0
            symbol = find_symbol(&self.symbols.table, name, length, False)
            if symbol >= 0 and read_value(<object> value, &attribute):
                self._push(symbol, 0, &attribute)
            elif symbol >= 0 or not is_scalar(<object> value):
                place.symbol = symbol
                place.hash = extended_hash(0, name, length)
                place.is_object = self.symbols.path_slot(place.hash).is_object
                if symbol < 0 and not place.is_object:
                    continue
                place.length = self._set_path(0, name, length)
                place.element = 0
                place.depth = 1
                if not self._push_nested(<object> value, place):
                    return 0
        if self.batch.element_count > elements:
            return not (self.has_dotted or self._has_dotted_key(members))
        return 1

    cdef int _has_dotted_key(self, dict members) except -1:
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t length
        cdef const char *name
        while PyDict_Next(members, &at, &key, &value):
            name = _utf8(<object> key, &length)
            if memchr(name, c".", length) != NULL:
                return 1
        return 0

    cdef int _push_tags(self, object tags) except -1:
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
            text = _utf8(tag, &length)
            symbol = find_symbol(&self.symbols.table, text, length, True)
            if symbol >= 0:
                self._push(symbol, 0, &attribute)
        return 1

    # --- leaves that Python has read

    cdef int _push_leaves(self, dict leaves, object tags) except -1:
        """Add a message from the leaves of each attribute and its tags; return 0 if a value is not plain.

        leaves: name -> pairs of value and element, as in `language.message`.
        """
        cdef Py_ssize_t length
        cdef const char *text
        cdef int64_t symbol
        cdef Attribute attribute
        cdef dict known = {}
        if not self.batch.begin_message():
            raise MemoryError
        self.batch.is_nested[self.batch.count - 1] = 1
        for name, values in leaves.items():
            text = _utf8(name, &length)
            symbol = find_symbol(&self.symbols.table, text, length, False)
            if symbol < 0:
                continue
            for value, chain in values:
                if not read_value(value, &attribute):
                    return 0
                self._push(symbol, self._push_chain(known, chain), &attribute)
        return self._push_tags(tags)

    cdef uint32_t _push_chain(self, dict known, tuple chain) except? 0xFFFFFFFF:
        """Return the element of a chain of pairs of array and index: index + 1, or 0."""
        cdef uint32_t parent
        if not chain:
            return 0
        element = known.get(chain)
        if element is None:
            last = len(chain) - 1
            parent = self._push_chain(known, chain[:last])
            array = known.setdefault((parent, chain[last][0]), self.batch.arrays + 1)
            self.batch.arrays = max(self.batch.arrays, <uint32_t> array)
            element = known[chain] = self._push_element(parent, array)
        return element

    # --- objects and arrays

    cdef int _set_path(self, Py_ssize_t start, const char *key, Py_ssize_t length) except -1:
        """Write a key at an offset of the current path; return the new length of the path."""
        if start + length > self.path_room:
            self.path = <char *> resized(self.path, 2 * (start + length) + 64)
            self.path_room = 2 * (start + length) + 64
        memcpy(self.path + start, key, length)
        return start + length

    cdef int _push_nested(self, object value, Place place) except -1:
        """Add the leaves of an object or array; return 0 if it is something else, or not valid."""
        self.batch.is_nested[self.batch.count - 1] = 1
        place.depth += 1
        if place.depth > MAX_DEPTH:
            return 0
        if PyDict_CheckExact(value):
            return self._push_object(<dict> value, place) if place.is_object else 1
        if PyList_CheckExact(value) or PyTuple_CheckExact(value):
            return self._push_list(value, place)
        return 0

    cdef int _push_object(self, dict members, Place place) except -1:
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t length
        cdef const char *name
        cdef Place member
        cdef Path *entry
        cdef Attribute attribute
        self._set_path(place.length, ".", 1)
        place.hash = extended_hash(place.hash, ".", 1)
        while PyDict_Next(members, &at, &key, &value):
            if not PyUnicode_CheckExact(<object> key):
                return 0
            name = _utf8(<object> key, &length)
            self.has_dotted |= memchr(name, c".", length) != NULL
            member = place
            member.hash = extended_hash(place.hash, name, length)
            entry = self.symbols.path_slot(member.hash)
            if entry.key == 0:
                continue
            member.length = self._set_path(place.length + 1, name, length)
            member.symbol = -1
            member.is_object = entry.is_object
            if entry.symbol and has_text(&self.symbols.table, entry.symbol - 1, self.path, <uint64_t> member.length):
                member.symbol = entry.symbol - 1
                if read_value(<object> value, &attribute):
                    self._push(member.symbol, place.element, &attribute)
                    continue
            elif is_scalar(<object> value):
                continue
            if not self._push_nested(<object> value, member):
                return 0
        return 1

    cdef int _push_list(self, object items, Place place) except -1:
        cdef uint32_t outer = place.element
        cdef Attribute attribute
        cdef uint32_t array
        self.batch.arrays += 1
        array = self.batch.arrays
        for item in items:
            if is_scalar(item):
                if place.symbol >= 0:
                    if not read_value(item, &attribute):
                        return 0
                    self._push(place.symbol, outer, &attribute)
                continue
            if PyDict_CheckExact(item) and not place.is_object:
                continue
            place.element = self._push_element(outer, array)
            if not self._push_nested(item, place):
                return 0
        return 1


# --- repeated names --------------------------------------------------------------------------

cdef enum:
    MAX_JSON_DEPTH = 200


cdef Py_ssize_t _name_count(object value, int depth) except -1:
    """Return the number of names in a value and in all that it holds."""
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t place = 0
    cdef PyObject *key
    cdef PyObject *member
    if depth > MAX_JSON_DEPTH:
        raise RecursionError
    if type(value) is dict:
        count = len(<dict> value)
        while PyDict_Next(value, &place, &key, &member):
            count += _name_count(<object> member, depth + 1)
    elif type(value) is list:
        for item in <list> value:
            count += _name_count(item, depth + 1)
    return count


def are_names_distinct(bytes text not None, dict members not None):
    """Return whether no object in a JSON text has a name twice; False may be wrong.

    members: the decoded text. Each name of the text ends with a quote, blanks and a colon, which may also occur
    inside strings. So if there are no more of these than distinct names, no name is repeated.
    """
    cdef const unsigned char *chars = text
    cdef Py_ssize_t place, before
    cdef Py_ssize_t ends = 0
    for place in range(1, len(text)):
        if chars[place] == c":":
            before = place - 1
            while before > 0 and chars[before] in b" \t\r\n":
                before -= 1
            ends += chars[before] == c'"'
    return ends == _name_count(members, 0)
