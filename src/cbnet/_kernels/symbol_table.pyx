"""The symbol of each name and tag of a table, found by its text."""

from cpython.mem cimport PyMem_RawFree
from libc.string cimport memchr, memcmp

from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize, hash_bytes
from cbnet._kernels.memory cimport zeroed

cdef class Symbols:
    """The symbol of each name and tag: an open hash table over texts.

        slots    0 │ 4 │ 0 │ 1 │ 2 │ …     their number is a power of two; 0 is free, else symbol + 1

    A text is searched from slot `hash & mask` on, up to a free slot. Names and tags are hashed
    with different seeds; symbols below `names` are names.

    A second table has the names that contain a dot, and the objects that they lie in: `detail` and
    `detail.user` for the name `detail.user.id`. Its hash is extended from the path of an object to that of a
    member, so the cost of a nested message does not grow with the length of its paths. It is built for the
    first nested message.

    It also marks the roots of computed attributes, such as `items` of `count(items)`, `all items.parts (…)` and
    `items[0].price`: keys at the top of messages. A message that has one is read by Python; see `matching.storage.used_leaves`.
    More keys may be marked than are roots.
    """

    def __cinit__(self):
        self.paths = NULL
        self.has_found_roots = self.has_roots = self.is_any_root = False

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

    def symbol(self, str text, bint is_tag):
        """Return the symbol of a name or tag, or -1."""
        cdef Py_ssize_t length
        cdef const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length)
        return find_symbol(&self.table, utf8, length, is_tag)

    def is_object(self, str path):
        """Return whether a filter uses an attribute of an object at a path."""
        cdef Py_ssize_t length
        cdef const char *text = PyUnicode_AsUTF8AndSize(path, &length)
        return self.path_slot(extended_hash(0, text, length)).is_object != 0

    def computed_names(self):
        """Return the names that may be those of computed attributes."""
        cdef uint32_t symbol, length
        cdef const char *text
        found = []
        for symbol in range(min(self.table.names, self.table.count)):
            text = symbol_text(&self.table, symbol, &length)
            if length and (text[length - 1] == c")" or memchr(text, c"[", length) != NULL):
                found.append(text[:length].decode(errors="replace"))
        return found

    cdef bint uses_arrays(self) except -1:
        """Return whether there are computed attributes; find their roots."""
        cdef uint32_t symbol, length
        cdef const char *text
        if self.has_found_roots:
            return self.has_roots
        for symbol in range(min(self.table.names, self.table.count)):
            text = symbol_text(&self.table, symbol, &length)
            if length and (text[length - 1] == c")" or memchr(text, c"[", length) != NULL):
                self.has_roots = True
                self._enter_root(text, length)
        self.has_found_roots = True
        return self.has_roots

    cdef int _enter_root(self, const char *name, Py_ssize_t length) except -1:
        cdef Py_ssize_t start = 0
        cdef Py_ssize_t at
        cdef uint64_t key
        cdef Path *entry
        if length > 6 and memcmp(name, b"count(", 6) == 0:
            start = 6
        elif length > 4 and memcmp(name, b"all ", 4) == 0:
            start = 4
        if start and name[start] == c"`":  # not worth reading: few names need quotes
            self.is_any_root = True
            return 0
        for at in range(start, length + 1):
            if at == length or name[at] == c"." or name[at] == c"[" or (start and (name[at] == c" " or name[at] == c")")):
                key = extended_hash(0, name + start, at - start)
                entry = self.path_slot(key)
                entry.key = key
                entry.is_root = 1
                if at == length or name[at] != c"[":  # a key may hold brackets itself
                    return 0
        return 0

    cdef bint is_root(self, const char *name, Py_ssize_t length) except -1:
        """Return whether a computed attribute may depend on a key at the top of a message, given `uses_arrays`."""
        cdef const char *dot = <const char *> memchr(name, c".", length)
        if self.is_any_root:
            return True
        return self.path_slot(extended_hash(0, name, dot - name if dot != NULL else length)).is_root != 0

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
                room += 4 * (table.data[at] == c"." or table.data[at] == c"[" or table.data[at] == c")")
        while room & (room - 1):
            room += room & -room
        self.paths = <Path *> zeroed(room, sizeof(Path))
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
