"""Signatures of filters. See `cover_signatures.pxd`."""

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from cbnet._kernels.cover_range cimport bloom_bit, mixed
from cbnet._kernels.memory cimport resized, zeroed

cdef enum:
    FIRST_ROOM = 64  # for signatures, and for postings
    FEW = 16         # entries of a posting that is not made smaller


cdef inline uint32_t *_places(const Signature *signature) noexcept:
    return <uint32_t *> (signature.symbols + symbol_count(signature))


cdef class Signatures:
    """Signatures by their required symbols, and by each symbol that they offer."""

    def __cinit__(self):
        self._room = FIRST_ROOM
        self._head_mask = 2 * FIRST_ROOM - 1
        self._posting_mask = FIRST_ROOM - 1
        self.items = <Signature *> resized(NULL, FIRST_ROOM * sizeof(Signature))
        self.required = <uint64_t *> resized(NULL, FIRST_ROOM * sizeof(uint64_t))
        self.offered = <uint64_t *> resized(NULL, FIRST_ROOM * sizeof(uint64_t))
        self._heads = <uint32_t *> zeroed(2 * FIRST_ROOM, sizeof(uint32_t))
        self._postings = <Posting *> zeroed(FIRST_ROOM, sizeof(Posting))

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.count):
            PyMem_RawFree(self.items[i].symbols)
        PyMem_RawFree(self.items)
        PyMem_RawFree(self.required)
        PyMem_RawFree(self.offered)
        PyMem_RawFree(self._heads)
        PyMem_RawFree(self.aligned)
        if self._postings != NULL:
            self._free_postings()

    cdef uint32_t number_of(self, uint64_t *symbols, uint32_t attributes, uint32_t tags) except 0:
        """Return the number + 1 of the signature with some symbols, which it owns."""
        cdef Signature sought
        cdef uint32_t i, number
        cdef uint64_t value
        sought.symbols, sought.attributes, sought.tags, sought.first = symbols, attributes, tags, 0
        sought.key = 0
        if attributes > self._aligned_room:
            self.aligned = <uint32_t *> resized(self.aligned, 4 * attributes)
            self._aligned_room = attributes
        for i in range(attributes + tags):
            value = symbols[attributes + tags + i] if i < attributes else 0
            sought.key += mixed(value if value else symbols[i])
        number = self.find(sought.key, &sought, True)
        if number:
            PyMem_RawFree(symbols)
            return number
        return self._insert(&sought) + 1

    cdef uint32_t find(self, uint64_t key, const Signature *like, bint is_same) noexcept:
        """Return the number + 1 of the signature with a key: the same as another one, or offered by it; 0: none."""
        cdef uint64_t at = mixed(key) & self._head_mask
        cdef const Signature *found
        while self._heads[at]:
            found = &self.items[self._heads[at] - 1]
            if found.key == key:
                if not is_same and self.align(found, like):
                    return self._heads[at]
                if is_same and found.attributes == like.attributes and found.tags == like.tags and memcmp(
                        found.symbols, like.symbols, 8 * symbol_count(like)) == 0:
                    return self._heads[at]
            at = (at + 1) & self._head_mask
        return 0

    cdef bint align(self, const Signature *wide, const Signature *narrow) noexcept:
        """Return whether a signature offers what another requires, and note the places of its attributes."""
        cdef uint32_t i, j = 0
        cdef uint64_t value
        if wide.attributes > narrow.attributes or wide.tags > narrow.tags:
            return False
        for i in range(wide.attributes):
            while j < narrow.attributes and narrow.symbols[j] < wide.symbols[i]:
                j += 1
            if j == narrow.attributes or narrow.symbols[j] != wide.symbols[i]:
                return False
            value = wide.symbols[wide.attributes + wide.tags + i]
            if value and value != narrow.symbols[narrow.attributes + narrow.tags + j]:
                return False
            self.aligned[i] = j
        j = narrow.attributes
        for i in range(wide.attributes, wide.attributes + wide.tags):
            while j < narrow.attributes + narrow.tags and narrow.symbols[j] < wide.symbols[i]:
                j += 1
            if j == narrow.attributes + narrow.tags or narrow.symbols[j] != wide.symbols[i]:
                return False
        return True

    cdef int remove(self, uint32_t number) except -1:
        """Remove a signature without rows."""
        cdef Signature *signature = &self.items[number]
        cdef uint32_t i, size = signature.attributes + signature.tags
        for i in range(symbol_count(signature)):
            if i < size or signature.symbols[i]:
                self._unpost(signature.symbols[i], _places(signature)[i])
        self._take_head(number)
        PyMem_RawFree(signature.symbols)
        signature.symbols = NULL
        signature.attributes = signature.tags = 0
        signature.key = self._free
        self._free = number + 1
        return 0

    cdef Posting *posting(self, uint64_t symbol) noexcept:
        """Return the posting of a symbol; one with no room if there is none."""
        cdef uint64_t at = mixed(symbol) & self._posting_mask
        while self._postings[at].room and self._postings[at].symbol != symbol:
            at = (at + 1) & self._posting_mask
        return &self._postings[at]

    cdef int64_t _insert(self, const Signature *signature) except -1:
        """Add a signature; return its number."""
        cdef uint32_t i, number, size = signature.attributes + signature.tags
        cdef uint32_t *places = _places(signature)
        cdef uint64_t value
        if self._free:
            number = self._free - 1
            self._free = <uint32_t> self.items[number].key
        else:
            if self.count == self._room:
                self._grow_signatures()
            number = self.count
            self.count += 1
        self.items[number] = signature[0]
        self.required[number] = self.offered[number] = 0
        self._put_head(number)
        for i in range(size):
            value = signature.symbols[size + i] if i < signature.attributes else 0
            self.required[number] |= bloom_bit(value if value else signature.symbols[i])
            self.offered[number] |= bloom_bit(signature.symbols[i])
            places[i] = self._post(signature.symbols[i], number)
            if value:
                self.offered[number] |= bloom_bit(value)
                places[size + i] = self._post(value, number)
        return number

    cdef void _put_head(self, uint32_t number) noexcept:
        cdef uint64_t at = mixed(self.items[number].key) & self._head_mask
        while self._heads[at]:
            at = (at + 1) & self._head_mask
        self._heads[at] = number + 1

    cdef void _take_head(self, uint32_t number) noexcept:
        """Remove the head of a signature, and move up those that it had displaced."""
        cdef uint64_t hole = mixed(self.items[number].key) & self._head_mask
        cdef uint64_t at, home
        while self._heads[hole] != number + 1:
            hole = (hole + 1) & self._head_mask
        at = (hole + 1) & self._head_mask
        while self._heads[at]:
            home = mixed(self.items[self._heads[at] - 1].key) & self._head_mask
            if (at - home) & self._head_mask >= (at - hole) & self._head_mask:
                self._heads[hole] = self._heads[at]
                hole = at
            at = (at + 1) & self._head_mask
        self._heads[hole] = 0

    cdef int64_t _post(self, uint64_t symbol, uint32_t number) except -1:
        """Add a signature to the posting of a symbol; return its place there."""
        cdef Posting *posting = self.posting(symbol)
        if not posting.room:
            if <uint64_t> self._symbols * 3 > self._posting_mask * 2:
                self._grow_postings()
                posting = self.posting(symbol)
            self._symbols += 1
            posting.symbol = symbol
        if posting.count == posting.room:
            self._resize(posting, posting.room + posting.room // 4 + 1)
        posting.signatures[posting.count] = number
        posting.count += 1
        return posting.count - 1

    cdef int _unpost(self, uint64_t symbol, uint32_t place) except -1:
        """Remove the signature at a place of the posting of a symbol; the last one takes its place."""
        cdef Posting *posting = self.posting(symbol)
        cdef uint32_t i, last = posting.count - 1
        cdef const Signature *moved = &self.items[posting.signatures[last]]
        posting.count = last
        if place != last:
            posting.signatures[place] = posting.signatures[last]
            for i in range(symbol_count(moved)):
                if moved.symbols[i] == symbol and _places(moved)[i] == last:
                    _places(moved)[i] = place
                    break
        if not last:
            PyMem_RawFree(posting.signatures)
            self._take_posting(posting - self._postings)
        elif last > FEW and last < posting.room // 4:
            self._resize(posting, posting.room // 2)
        return 0

    cdef int _resize(self, Posting *posting, uint32_t room) except -1:
        posting.signatures = <uint32_t *> resized(posting.signatures, 4 * <size_t> room)
        posting.room = room
        return 0

    cdef void _take_posting(self, uint64_t hole) noexcept:
        """Remove a posting, and move up those that it had displaced."""
        cdef uint64_t at = (hole + 1) & self._posting_mask
        cdef uint64_t home
        while self._postings[at].room:
            home = mixed(self._postings[at].symbol) & self._posting_mask
            if (at - home) & self._posting_mask >= (at - hole) & self._posting_mask:
                self._postings[hole] = self._postings[at]
                hole = at
            at = (at + 1) & self._posting_mask
        memset(&self._postings[hole], 0, sizeof(Posting))
        self._symbols -= 1

    cdef int _grow_signatures(self) except -1:
        cdef uint32_t room = self._room + self._room // 4
        cdef uint32_t i
        cdef uint32_t *heads
        self.items = <Signature *> resized(self.items, room * sizeof(Signature))
        self.required = <uint64_t *> resized(self.required, 8 * <size_t> room)
        self.offered = <uint64_t *> resized(self.offered, 8 * <size_t> room)
        self._room = room
        if <uint64_t> room * 3 > self._head_mask * 2:
            heads = <uint32_t *> zeroed((self._head_mask + 1) * 2, sizeof(uint32_t))
            PyMem_RawFree(self._heads)
            self._heads = heads
            self._head_mask = self._head_mask * 2 + 1
            for i in range(self.count):
                self._put_head(i)
        return 0

    cdef int _grow_postings(self) except -1:
        cdef Posting *old = self._postings
        cdef uint64_t i, slots = self._posting_mask + 1
        cdef Posting *grown = <Posting *> zeroed(slots * 2, sizeof(Posting))
        self._postings = grown
        self._posting_mask = slots * 2 - 1
        for i in range(slots):
            if old[i].room:
                self.posting(old[i].symbol)[0] = old[i]
        PyMem_RawFree(old)
        return 0

    cdef void _free_postings(self) noexcept:
        cdef uint64_t i
        for i in range(self._posting_mask + 1):
            PyMem_RawFree(self._postings[i].signatures)
        PyMem_RawFree(self._postings)
