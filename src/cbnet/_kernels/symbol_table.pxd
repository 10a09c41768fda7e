"""The symbols of names and tags; `symbol_table.pyx` draws the tables."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from cbnet._kernels.byte_strings cimport MIX, equal_bytes, hash_bytes

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

cdef inline bint has_text(const SymbolTable *table, uint32_t symbol, const char *text, uint64_t length) noexcept nogil:
    """Return whether a text is that of a symbol."""
    cdef uint32_t own
    cdef const char *name = symbol_text(table, symbol, &own)
    return own == length and equal_bytes(name, text, length)

cdef inline int64_t find_hashed(
    const SymbolTable *table, const char *text, uint64_t length, bint is_tag, uint64_t hash
) noexcept nogil:
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
        if symbol < table.count and (symbol >= table.names) == is_tag and has_text(table, symbol, text, length):
            return symbol
        slot = (slot + 1) & mask
    return -1

cdef inline int64_t find_symbol(const SymbolTable *table, const char *text, uint64_t length, bint is_tag) noexcept nogil:
    """Return the symbol of a name or tag, or -1."""
    return find_hashed(table, text, length, is_tag, hash_bytes(text, length, is_tag))

cdef struct Path:          # of nested objects; see `Symbols`
    uint64_t key           # hash of the path; 0: free
    uint32_t symbol        # + 1; 0: not a name
    uint16_t is_object     # part of a longer name
    uint16_t is_root       # a key at the top of messages that some computed attribute depends on

cdef inline uint64_t extended_hash(uint64_t hash, const char *text, Py_ssize_t length) noexcept nogil:
    """Return the hash of a path and a text after it, never 0; the hash of the empty path is 0."""
    cdef Py_ssize_t at
    for at in range(length):
        hash = (hash ^ <uint8_t> text[at] ^ 0x5BD1E995) * MIX
        hash ^= hash >> 32
    return hash if hash else 1

cdef class Symbols:
    cdef object __weakref__
    cdef object kept
    cdef SymbolTable table
    cdef readonly uint32_t names
    cdef readonly uint32_t count
    cdef Path *paths
    cdef uint64_t path_mask
    cdef bint has_found_roots, has_roots, is_any_root
    cdef int _open_paths(self) except -1
    cdef int _enter_paths(self, uint32_t symbol) except -1
    cdef Path *path_slot(self, uint64_t key) except NULL
    cdef bint uses_arrays(self) except -1
    cdef bint is_root(self, const char *name, Py_ssize_t length) except -1
    cdef int _enter_root(self, const char *name, Py_ssize_t length) except -1
