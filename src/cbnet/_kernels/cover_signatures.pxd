"""Signatures of filters: the attributes, tests and tags that some filters have in common. `cover_index` draws them.

    signatures  hash of the required symbols ──► signature ──► row ──► row ──► …
    postings    symbol ──► signatures that offer it

A signature knows its places in postings, so that removing it takes as long as adding it.

Invariant: each symbol of a signature, and each value, has one entry in its posting, at the noted place.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef struct Signature:
    uint64_t *symbols  # of attributes and tests, then of tags, each ascending; then the values of the former, 0: none
                       # after these, their places in postings: uint32_t
    uint64_t key       # of a free one: the next free number + 1
    uint32_t first     # row + 1; 0: none
    uint32_t attributes
    uint32_t tags

cdef struct Posting:
    uint64_t symbol
    uint32_t *signatures
    uint32_t count
    uint32_t room

cdef class Signatures:
    cdef Signature *items
    cdef uint32_t count         # of items, free ones included
    cdef uint64_t *required     # Bloom filters of the symbols, by signature
    cdef uint64_t *offered
    cdef uint32_t *aligned      # the place of each attribute of a wide signature in a narrow one, see `align`
    cdef uint32_t *_heads       # by hash: signature + 1
    cdef Posting *_postings     # by hash of the symbol
    cdef uint32_t _aligned_room, _room, _free, _symbols
    cdef uint64_t _head_mask, _posting_mask

    cdef uint32_t number_of(self, uint64_t *symbols, uint32_t attributes, uint32_t tags) except 0
    cdef uint32_t find(self, uint64_t key, const Signature *like, bint is_same) noexcept
    cdef bint align(self, const Signature *wide, const Signature *narrow) noexcept
    cdef int remove(self, uint32_t number) except -1
    cdef Posting *posting(self, uint64_t symbol) noexcept
    cdef int64_t _insert(self, const Signature *signature) except -1
    cdef void _put_head(self, uint32_t number) noexcept
    cdef void _take_head(self, uint32_t number) noexcept
    cdef int64_t _post(self, uint64_t symbol, uint32_t number) except -1
    cdef int _unpost(self, uint64_t symbol, uint32_t place) except -1
    cdef int _resize(self, Posting *posting, uint32_t room) except -1
    cdef void _take_posting(self, uint64_t hole) noexcept
    cdef int _grow_signatures(self) except -1
    cdef int _grow_postings(self) except -1
    cdef void _free_postings(self) noexcept

cdef inline uint32_t symbol_count(const Signature *signature) noexcept:
    """Return the number of symbols and values, those that are 0 too."""
    return 2 * signature.attributes + signature.tags
