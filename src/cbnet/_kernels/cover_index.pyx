"""Index of filters by the attributes, tests and tags that they require, for the covering relation.

A filter g covers f if f has all symbols of g, and each range of g contains that of f. Filters with the same symbols
share a signature:

    x > 5 and #a ┐                     required   offered
    x > 7 and #a ┴─► signature         x #a       x #a
    x = 9 and #a ──► signature         x=9 #a     x x=9 #a

    signatures  hash of the required symbols ──► signature ──► row ──► row ──► …
    postings    symbol ──► signatures that offer it

Wide filters are searched by all subsets of the offered symbols, or among all signatures if there are fewer of these;
narrow ones among the signatures that offer the rarest of the required symbols. Symbols are 64-bit hashes of the
caller; different symbols must have different hashes, except for those of values, whose ranges are always compared.

Ranges are compared by `cover_range`.

A signature goes with its last row. It knows its places in postings, so this takes as long as to add it: a client may
leave with a hundred thousand filters, one after the other.

Invariant: each symbol of a signature, and each value, has one entry in its posting, at the noted place.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawRealloc
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from cbnet._kernels.cover_range cimport (
    NO, POSSIBLY, YES, CoverRange, Range, bloom_bit, contains, mixed, plain_range,
)
from cbnet._kernels.plain_filter cimport PlainFilter, read_filter, shared_text

cdef enum:
    MOST_SUBSETS = 4096
    FEW = 16  # entries of a posting that is not made smaller

cdef struct Signature:
    uint64_t *symbols  # of attributes and tests, then of tags, each ascending; then the values of the former, 0: none
                       # after these, their places in postings: uint32_t
    uint64_t key       # of a free one: the next free number + 1
    uint32_t first     # row + 1; 0: none
    uint32_t attributes
    uint32_t tags


cdef struct Row:
    Range *ranges      # one for each attribute of the signature
    uint32_t signature # number + 1; 0: the row is not in the index
    uint32_t next      # row + 1
    uint32_t previous


cdef inline uint32_t _symbol_count(const Signature *signature) noexcept:
    """Return the number of symbols and values, those that are 0 too."""
    return 2 * signature.attributes + signature.tags


cdef inline uint32_t *_places(const Signature *signature) noexcept:
    return <uint32_t *> (signature.symbols + _symbol_count(signature))


cdef struct Posting:
    uint64_t symbol
    uint32_t *signatures
    uint32_t count
    uint32_t room


cdef void *_resized(void *block, size_t size) except NULL:
    block = PyMem_RawRealloc(block, size)
    if block == NULL:
        raise MemoryError
    return block


cdef uint64_t *_new_symbols(uint32_t count) except NULL:
    """Return memory for the symbols and values of a signature, and for their places."""
    return <uint64_t *> _resized(NULL, 12 * <size_t> max(count, 1))


cdef uint64_t _symbol(str kind, str name) except? 0:
    return <uint64_t> hash((kind, name))


# --- the index

cdef class CoverRows:
    """Rows of filters, numbered by the caller."""

    cdef Row *_rows
    cdef Signature *_signatures
    cdef uint64_t *_required   # Bloom filters of the symbols, by signature
    cdef uint64_t *_offered
    cdef uint32_t *_heads      # by hash: signature + 1
    cdef Posting *_postings    # by hash of the symbol
    cdef uint32_t *_aligned    # the place of each attribute of a wide signature in a narrow one
    cdef uint32_t _aligned_room, _row_room, _count, _room, _free, _symbols
    cdef uint64_t _head_mask, _posting_mask
    cdef readonly uint32_t rows
    # the search that is under way
    cdef uint32_t _sought, _limit, _left
    cdef list _sure, _possible

    def __cinit__(self):
        self._start(64)

    def __dealloc__(self):
        cdef uint32_t row
        for row in range(self._row_room):
            self._free_ranges(row)
        PyMem_RawFree(self._rows)
        PyMem_RawFree(self._aligned)
        self._free_signatures()

    def __len__(self):
        return self.rows

    def __contains__(self, uint32_t row):
        return row < self._row_room and self._rows[row].signature != 0

    def add(self, uint32_t row, list attributes, list tags):
        """Add a row that is absent.

        attributes: (symbol, range) of each attribute and test, ascending.
        tags: symbols, ascending.
        """
        cdef uint32_t count = <uint32_t> len(attributes)
        cdef uint32_t tag_count = <uint32_t> len(tags)
        cdef uint64_t *symbols = _new_symbols(2 * count + tag_count)
        cdef Range *ranges = NULL
        cdef CoverRange each
        cdef uint32_t i
        if count:
            ranges = <Range *> _resized(NULL, count * sizeof(Range))
        for i in range(count):
            symbol, found = attributes[i]
            each = <CoverRange> found
            symbols[i] = symbol
            symbols[count + tag_count + i] = mixed(<uint64_t> symbol ^ each.value) if each.value else 0
            ranges[i] = each.range
            Py_XINCREF(ranges[i].text)
        for i in range(tag_count):
            symbols[count + i] = tags[i]
        self._add(row, symbols, ranges, count, tag_count)

    def add_plain(self, uint32_t row, bytes encoded not None):
        """Add a row that is absent, from the byte form of its filter; return False if Python must analyse it."""
        cdef PlainFilter filter
        if row in self:
            raise ValueError(f"row {row} is in the index")
        if not read_filter(encoded, &filter):
            return False
        return self._add_plain(row, &filter)

    cdef bint _add_plain(self, uint32_t row, const PlainFilter *filter) except -1:
        cdef uint32_t count = filter.count
        cdef uint32_t i, j, size = filter.count + filter.tag_count
        cdef uint64_t *symbols = _new_symbols(size + count)
        cdef Range *ranges = NULL
        cdef Range found
        cdef uint64_t symbol, value
        if count:
            ranges = <Range *> _resized(NULL, count * sizeof(Range))
        for i in range(count):
            if not plain_range(&filter.constraints[i], &found, &value):
                for j in range(i):
                    Py_XDECREF(ranges[j].text)
                PyMem_RawFree(ranges)
                PyMem_RawFree(symbols)
                return False
            symbol = _symbol("name", shared_text(&filter.constraints[i].name))
            j = i
            while j and symbols[j - 1] > symbol:
                symbols[j], symbols[size + j], ranges[j] = symbols[j - 1], symbols[size + j - 1], ranges[j - 1]
                j -= 1
            symbols[j], symbols[size + j], ranges[j] = symbol, mixed(symbol ^ value) if value else 0, found
        for i in range(filter.tag_count):
            symbol = _symbol("tag", shared_text(&filter.tags[i]))
            j = count + i
            while j > count and symbols[j - 1] > symbol:
                symbols[j] = symbols[j - 1]
                j -= 1
            symbols[j] = symbol
        self._add(row, symbols, ranges, count, filter.tag_count)
        return True

    cdef int _add(self, uint32_t row, uint64_t *symbols, Range *ranges, uint32_t count, uint32_t tag_count) except -1:
        """Add a row; it owns the symbols and the ranges."""
        if row >= self._row_room:
            self._grow_rows(row)
        self._rows[row].ranges = ranges
        self._link(row, self._signature(symbols, count, tag_count))
        self.rows += 1
        return 0

    def describe(self, uint32_t row):
        """Return the symbols of a row, and its ranges."""
        cdef const Signature *signature = &self._signatures[self._rows[row].signature - 1]
        cdef const Range *each
        cdef uint32_t i, size = _symbol_count(signature)
        ranges = []
        for i in range(signature.attributes):
            each = &self._rows[row].ranges[i]
            text = None if each.text == NULL else <object> each.text
            ranges.append(
                (each.kind, each.flags, each.low, each.high, each.members, each.pairs, each.needed, text))
        return [signature.symbols[i] for i in range(size)], ranges

    def remove(self, uint32_t row):
        """Remove a row."""
        cdef Row *at = &self._rows[row]
        cdef Signature *signature = &self._signatures[at.signature - 1]
        if at.previous:
            self._rows[at.previous - 1].next = at.next
        else:
            signature.first = at.next
        if at.next:
            self._rows[at.next - 1].previous = at.previous
        self._free_ranges(row)
        if not signature.first:
            self._take_out(at.signature - 1)
        at.signature = at.next = at.previous = 0
        self.rows -= 1

    def wide(self, uint32_t row, uint32_t limit):
        """Return the other rows that cover a row surely, and those that do possibly; about `limit` of the former."""
        cdef const Signature *signature = &self._signatures[self._rows[row].signature - 1]
        cdef const uint64_t *values = signature.symbols + signature.attributes + signature.tags
        cdef uint64_t subsets = 1
        cdef uint32_t i
        self._begin(row, limit)
        for i in range(signature.attributes + signature.tags):
            subsets *= 3 if i < signature.attributes and values[i] else 2
            if subsets > MOST_SUBSETS:
                break
        if subsets <= MOST_SUBSETS and subsets <= <uint64_t> self._count * 2 + 8:
            self._visit_subsets(signature, 0, 0)
        else:
            self._visit_all_wide()
        return self._sure, self._possible

    def narrow(self, uint32_t row, uint32_t limit):
        """Return the other rows that a row covers surely, and those that it covers possibly.

        None if there are more than `limit` candidates: `narrow_among` finds them in slices.
        """
        cdef uint32_t number = self._rows[row].signature - 1
        cdef const Signature *signature = &self._signatures[number]
        cdef const uint64_t *values = signature.symbols + signature.attributes + signature.tags
        cdef const Posting *rarest = NULL
        cdef const Posting *posting
        cdef uint32_t i
        cdef uint64_t needed = self._required[number]
        self._begin(row, 0)
        self._left = limit
        for i in range(signature.attributes + signature.tags):
            posting = self._posting(values[i] if i < signature.attributes and values[i] else signature.symbols[i])
            if rarest == NULL or posting.count < rarest.count:
                rarest = posting
        if rarest == NULL:
            for i in range(self._count):
                if not self._visit_narrow(signature, i):
                    return None
            return self._sure, self._possible
        for i in range(rarest.count):
            if needed & ~self._offered[rarest.signatures[i]] == 0:
                if not self._visit_narrow(signature, rarest.signatures[i]):
                    return None
        return self._sure, self._possible

    def narrow_among(self, uint32_t row, uint32_t start, uint32_t end, uint32_t limit):
        """Return the rows from `start` to `end` that another one covers surely or possibly, and the next to visit.

        It stops after `limit` rows that it covers.
        """
        cdef uint32_t number = self._rows[row].signature - 1
        cdef const Signature *signature = &self._signatures[number]
        cdef uint64_t needed = self._required[number]
        cdef uint32_t narrow, found, aligned = 0
        self._begin(row, 0)
        for narrow in range(start, min(end, self._row_room)):
            found = self._rows[narrow].signature
            if not found or narrow == row or needed & ~self._offered[found - 1]:
                continue
            if found != aligned:
                aligned = 0
                if not self._align(signature, &self._signatures[found - 1]):
                    continue
                aligned = found
            self._file(narrow, self._compare(row, narrow))
            if <uint32_t> (len(self._sure) + len(self._possible)) >= limit:
                return self._sure, self._possible, narrow + 1
        return self._sure, self._possible, end

    def covers(self, uint32_t wide, uint32_t narrow):
        """Return 1 if a row surely covers another, 0 if it does not, and 2 if it does possibly."""
        if not self._align(&self._signatures[self._rows[wide].signature - 1],
                           &self._signatures[self._rows[narrow].signature - 1]):
            return NO
        return self._compare(wide, narrow)

    # --- searches

    cdef void _begin(self, uint32_t row, uint32_t limit):
        self._sought, self._limit = row, limit
        self._sure, self._possible = [], []

    cdef int _visit_subsets(self, const Signature *offered, uint32_t place, uint64_t key) except -1:
        """Visit the signatures of all subsets of the offered symbols from a place on."""
        cdef uint64_t value
        if self._limit and <uint32_t> len(self._sure) >= self._limit:
            return 0
        if place == offered.attributes + offered.tags:
            self._visit_wide(offered, self._find(key, offered, False))
            return 0
        self._visit_subsets(offered, place + 1, key)
        self._visit_subsets(offered, place + 1, key + mixed(offered.symbols[place]))
        value = offered.symbols[offered.attributes + offered.tags + place] if place < offered.attributes else 0
        if value:
            self._visit_subsets(offered, place + 1, key + mixed(value))
        return 0

    cdef int _visit_all_wide(self) except -1:
        cdef uint32_t own = self._rows[self._sought].signature - 1
        cdef uint64_t offered = self._offered[own]
        cdef uint32_t i
        for i in range(self._count):
            if self._required[i] & ~offered == 0:
                self._visit_wide(&self._signatures[own], i + 1)
            if self._limit and <uint32_t> len(self._sure) >= self._limit:
                break
        return 0

    cdef int _visit_wide(self, const Signature *offered, uint32_t number) except -1:
        """Add the rows of a signature that cover the sought one."""
        cdef uint32_t row
        if not number or not self._signatures[number - 1].first:
            return 0
        if not self._align(&self._signatures[number - 1], offered):
            return 0
        row = self._signatures[number - 1].first
        while row and not (self._limit and <uint32_t> len(self._sure) >= self._limit):
            if row - 1 != self._sought:
                self._file(row - 1, self._compare(row - 1, self._sought))
            row = self._rows[row - 1].next
        return 0

    cdef bint _visit_narrow(self, const Signature *wide, uint32_t number) except -1:
        """Add the rows of a signature that the sought one covers; return False if too many were visited."""
        cdef uint32_t row = self._signatures[number].first
        if not self._left:
            return False
        self._left -= 1
        if not row or not self._align(wide, &self._signatures[number]):
            return True
        while row:
            if row - 1 != self._sought:
                self._file(row - 1, self._compare(self._sought, row - 1))
                if not self._left:
                    return False
                self._left -= 1
            row = self._rows[row - 1].next
        return True

    cdef inline int _file(self, uint32_t row, int answer) except -1:
        if answer == YES:
            self._sure.append(row)
        elif answer == POSSIBLY:
            self._possible.append(row)
        return 0

    cdef bint _align(self, const Signature *wide, const Signature *narrow) noexcept:
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
            self._aligned[i] = j
        j = narrow.attributes
        for i in range(wide.attributes, wide.attributes + wide.tags):
            while j < narrow.attributes + narrow.tags and narrow.symbols[j] < wide.symbols[i]:
                j += 1
            if j == narrow.attributes + narrow.tags or narrow.symbols[j] != wide.symbols[i]:
                return False
        return True

    cdef int _compare(self, uint32_t wide, uint32_t narrow) except -1:
        """Return whether a row covers another; their signatures have been aligned."""
        cdef const Range *w = self._rows[wide].ranges
        cdef const Range *n = self._rows[narrow].ranges
        cdef uint32_t i
        cdef int found, answer = YES
        for i in range(self._signatures[self._rows[wide].signature - 1].attributes):
            found = contains(&w[i], &n[self._aligned[i]])
            if found == NO:
                return NO
            if found == POSSIBLY:
                answer = POSSIBLY
        return answer

    # --- signatures and postings

    cdef uint32_t _signature(self, uint64_t *symbols, uint32_t attributes, uint32_t tags) except 0:
        """Return the number + 1 of the signature with some symbols, which it owns."""
        cdef Signature sought
        cdef uint32_t i, number
        cdef uint64_t value
        sought.symbols, sought.attributes, sought.tags, sought.first = symbols, attributes, tags, 0
        sought.key = 0
        if attributes > self._aligned_room:
            self._aligned = <uint32_t *> _resized(self._aligned, 4 * attributes)
            self._aligned_room = attributes
        for i in range(attributes + tags):
            value = symbols[attributes + tags + i] if i < attributes else 0
            sought.key += mixed(value if value else symbols[i])
        number = self._find(sought.key, &sought, True)
        if number:
            PyMem_RawFree(symbols)
            return number
        return self._insert(&sought) + 1

    cdef uint32_t _find(self, uint64_t key, const Signature *like, bint is_same) noexcept:
        """Return the number + 1 of the signature with a key: the same as another one, or offered by it; 0: none."""
        cdef uint64_t at = mixed(key) & self._head_mask
        cdef const Signature *found
        while self._heads[at]:
            found = &self._signatures[self._heads[at] - 1]
            if found.key == key:
                if not is_same and self._align(found, like):
                    return self._heads[at]
                if is_same and found.attributes == like.attributes and found.tags == like.tags and memcmp(
                        found.symbols, like.symbols, 8 * _symbol_count(like)) == 0:
                    return self._heads[at]
            at = (at + 1) & self._head_mask
        return 0

    cdef int64_t _insert(self, const Signature *signature) except -1:
        """Add a signature; return its number."""
        cdef uint32_t i, number, size = signature.attributes + signature.tags
        cdef uint32_t *places = _places(signature)
        cdef uint64_t value
        if self._free:
            number = self._free - 1
            self._free = <uint32_t> self._signatures[number].key
        else:
            if self._count == self._room:
                self._grow_signatures()
            number = self._count
            self._count += 1
        self._signatures[number] = signature[0]
        self._required[number] = self._offered[number] = 0
        self._put_head(number)
        for i in range(size):
            value = signature.symbols[size + i] if i < signature.attributes else 0
            self._required[number] |= bloom_bit(value if value else signature.symbols[i])
            self._offered[number] |= bloom_bit(signature.symbols[i])
            places[i] = self._post(signature.symbols[i], number)
            if value:
                self._offered[number] |= bloom_bit(value)
                places[size + i] = self._post(value, number)
        return number

    cdef int _take_out(self, uint32_t number) except -1:
        """Remove a signature without rows."""
        cdef Signature *signature = &self._signatures[number]
        cdef uint32_t i, size = signature.attributes + signature.tags
        for i in range(_symbol_count(signature)):
            if i < size or signature.symbols[i]:
                self._unpost(signature.symbols[i], _places(signature)[i])
        self._take_head(number)
        PyMem_RawFree(signature.symbols)
        signature.symbols = NULL
        signature.attributes = signature.tags = 0
        signature.key = self._free
        self._free = number + 1
        return 0

    cdef void _put_head(self, uint32_t number) noexcept:
        cdef uint64_t at = mixed(self._signatures[number].key) & self._head_mask
        while self._heads[at]:
            at = (at + 1) & self._head_mask
        self._heads[at] = number + 1

    cdef void _take_head(self, uint32_t number) noexcept:
        """Remove the head of a signature, and move up those that it had displaced."""
        cdef uint64_t hole = mixed(self._signatures[number].key) & self._head_mask
        cdef uint64_t at, home
        while self._heads[hole] != number + 1:
            hole = (hole + 1) & self._head_mask
        at = (hole + 1) & self._head_mask
        while self._heads[at]:
            home = mixed(self._signatures[self._heads[at] - 1].key) & self._head_mask
            if (at - home) & self._head_mask >= (at - hole) & self._head_mask:
                self._heads[hole] = self._heads[at]
                hole = at
            at = (at + 1) & self._head_mask
        self._heads[hole] = 0

    cdef Posting *_posting(self, uint64_t symbol) noexcept:
        """Return the posting of a symbol; one with no room if there is none."""
        cdef uint64_t at = mixed(symbol) & self._posting_mask
        while self._postings[at].room and self._postings[at].symbol != symbol:
            at = (at + 1) & self._posting_mask
        return &self._postings[at]

    cdef int64_t _post(self, uint64_t symbol, uint32_t number) except -1:
        """Add a signature to the posting of a symbol; return its place there."""
        cdef Posting *posting = self._posting(symbol)
        if not posting.room:
            if <uint64_t> self._symbols * 3 > self._posting_mask * 2:
                self._grow_postings()
                posting = self._posting(symbol)
            self._symbols += 1
            posting.symbol = symbol
        if posting.count == posting.room:
            self._resize(posting, posting.room + posting.room // 4 + 1)
        posting.signatures[posting.count] = number
        posting.count += 1
        return posting.count - 1

    cdef int _unpost(self, uint64_t symbol, uint32_t place) except -1:
        """Remove the signature at a place of the posting of a symbol; the last one takes its place."""
        cdef Posting *posting = self._posting(symbol)
        cdef uint32_t i, last = posting.count - 1
        cdef const Signature *moved = &self._signatures[posting.signatures[last]]
        posting.count = last
        if place != last:
            posting.signatures[place] = posting.signatures[last]
            for i in range(_symbol_count(moved)):
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
        posting.signatures = <uint32_t *> _resized(posting.signatures, 4 * <size_t> room)
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

    cdef void _link(self, uint32_t row, uint32_t number) noexcept:
        cdef Signature *signature = &self._signatures[number - 1]
        self._rows[row].signature, self._rows[row].next, self._rows[row].previous = number, signature.first, 0
        if signature.first:
            self._rows[signature.first - 1].previous = row + 1
        signature.first = row + 1

    # --- memory

    cdef int _start(self, uint32_t room) except -1:
        """Begin without signatures."""
        cdef uint64_t slots = 64
        while slots < <uint64_t> room * 2:
            slots *= 2
        self._count = self._free = self._symbols = 0
        self._room = room
        self._head_mask = slots - 1
        self._posting_mask = 63
        self._signatures = <Signature *> _resized(NULL, room * sizeof(Signature))
        self._required = <uint64_t *> _resized(NULL, 8 * <size_t> room)
        self._offered = <uint64_t *> _resized(NULL, 8 * <size_t> room)
        self._heads = <uint32_t *> PyMem_RawCalloc(slots, sizeof(uint32_t))
        self._postings = <Posting *> PyMem_RawCalloc(64, sizeof(Posting))
        if self._heads == NULL or self._postings == NULL:
            raise MemoryError
        return 0

    cdef int _grow_rows(self, uint32_t row) except -1:
        cdef uint32_t room = row + row // 8 + 64
        cdef uint32_t i
        self._rows = <Row *> _resized(self._rows, room * sizeof(Row))
        for i in range(self._row_room, room):
            self._rows[i].ranges = NULL
            self._rows[i].signature = self._rows[i].next = self._rows[i].previous = 0
        self._row_room = room
        return 0

    cdef int _grow_signatures(self) except -1:
        cdef uint32_t room = self._room + self._room // 4
        cdef uint32_t i
        cdef uint32_t *heads
        self._signatures = <Signature *> _resized(self._signatures, room * sizeof(Signature))
        self._required = <uint64_t *> _resized(self._required, 8 * <size_t> room)
        self._offered = <uint64_t *> _resized(self._offered, 8 * <size_t> room)
        self._room = room
        if <uint64_t> room * 3 > self._head_mask * 2:
            heads = <uint32_t *> PyMem_RawCalloc((self._head_mask + 1) * 2, sizeof(uint32_t))
            if heads == NULL:
                raise MemoryError
            PyMem_RawFree(self._heads)
            self._heads = heads
            self._head_mask = self._head_mask * 2 + 1
            for i in range(self._count):
                self._put_head(i)
        return 0

    cdef int _grow_postings(self) except -1:
        cdef Posting *old = self._postings
        cdef uint64_t i, slots = self._posting_mask + 1
        cdef Posting *grown = <Posting *> PyMem_RawCalloc(slots * 2, sizeof(Posting))
        if grown == NULL:
            raise MemoryError
        self._postings = grown
        self._posting_mask = slots * 2 - 1
        for i in range(slots):
            if old[i].room:
                self._posting(old[i].symbol)[0] = old[i]
        PyMem_RawFree(old)
        return 0

    cdef void _free_ranges(self, uint32_t row) noexcept:
        cdef uint32_t i
        if self._rows[row].ranges == NULL:
            return
        for i in range(self._signatures[self._rows[row].signature - 1].attributes):
            Py_XDECREF(self._rows[row].ranges[i].text)
        PyMem_RawFree(self._rows[row].ranges)
        self._rows[row].ranges = NULL

    cdef void _free_postings(self) noexcept:
        cdef uint64_t i
        for i in range(self._posting_mask + 1):
            PyMem_RawFree(self._postings[i].signatures)
        PyMem_RawFree(self._postings)

    cdef void _free_signatures(self) noexcept:
        cdef uint32_t i
        for i in range(self._count):
            PyMem_RawFree(self._signatures[i].symbols)
        PyMem_RawFree(self._signatures)
        PyMem_RawFree(self._required)
        PyMem_RawFree(self._offered)
        PyMem_RawFree(self._heads)
        self._free_postings()
