"""Ternary search tries over the string constants of each name, and a search through one."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from cbnet._kernels.constant_pool cimport Texts

cdef enum Tests:  # as bits; the first four are the points of an entry, in this order
    STRING_EQ = 1
    PREFIX = 2
    SUFFIX = 4
    SUBSTRING = 8
    STRING_LT = 16
    STRING_LE = 32
    STRING_GE = 64
    STRING_GT = 128
    STRING_NE = 256

cdef struct Node:
    uint32_t low
    uint32_t high
    uint32_t entry
    uint8_t byte
    uint8_t behind
    uint16_t unused

cdef struct Entry:
    uint32_t points
    uint32_t up
    uint32_t down
    uint32_t unequal
    uint32_t string             # index of its text
    uint32_t tests              # of its constraints

cdef struct Tries:
    Texts strings
    const Entry *entries
    uint32_t entry_count
    const Node *nodes
    uint32_t node_count

cdef struct Search:
    void (*find)(void *owner, uint32_t constraint) noexcept nogil   # called with every point
    void *owner
    uint32_t *seen              # per entry: the last search that found its substring constraint; initially 0
    uint32_t number             # of this search
    uint32_t nearest            # entry: of the value, or the next above it; past the entries: none
    bint is_equal               # it is the entry of the value
    int64_t visited             # nodes; a byte of a tail counts as one

cdef void search_trie(const Tries *tries, Search *search, uint32_t root, uint32_t tests, const char *text,
                      uint32_t length) noexcept nogil
