"""Index of filters by the attributes, tests and tags that they require, for the covering relation.

A filter g covers f if f has all symbols of g, and each range of g contains that of f. Filters with the same symbols
share a signature:

    x > 5 and #a ┐                     required   offered
    x > 7 and #a ┴─► signature         x #a       x #a
    x = 9 and #a ──► signature         x=9 #a     x x=9 #a

Wide filters are searched by all subsets of the offered symbols, or among all signatures if there are fewer of these;
narrow ones among the signatures that offer the rarest of the required symbols. Symbols are 64-bit hashes of the
caller; different symbols must have different hashes, except for those of values, whose ranges are always compared.

Ranges are compared by `cover_range`. A signature goes with its last row, in the time that it took to add it
(`cover_signatures`): a client may leave with a hundred thousand filters, one after the other.
"""

from cpython.mem cimport PyMem_RawFree
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.stdint cimport uint32_t, uint64_t

from cbnet._kernels.cover_range cimport NO, POSSIBLY, YES, CoverRange, Range, contains, is_outside, mixed, plain_range
from cbnet._kernels.cover_signatures cimport Posting, Signature, Signatures, symbol_count
from cbnet._kernels.memory cimport resized
from cbnet._kernels.plain_filter cimport PlainFilter, read_filter, shared_text

cdef enum:
    MOST_SUBSETS = 4096

cdef struct Row:
    Range *ranges      # one for each attribute of the signature
    uint32_t count     # of ranges
    uint32_t signature # number + 1; 0: the row is not in the index
    uint32_t next      # row + 1
    uint32_t previous


cdef uint64_t *_new_symbols(uint32_t count) except NULL:
    """Return memory for the symbols and values of a signature, and for their places."""
    return <uint64_t *> resized(NULL, 12 * <size_t> max(count, 1))


cdef uint64_t _symbol(str kind, str name) except? 0:
    return <uint64_t> hash((kind, name))


cdef class CoverRows:
    """Rows of filters, numbered by the caller."""

    cdef Row *_rows
    cdef uint32_t _row_room
    cdef Signatures _signatures
    cdef readonly uint32_t rows
    # the search that is under way
    cdef uint32_t _sought, _limit, _left
    cdef list _sure, _possible

    def __cinit__(self):
        self._signatures = Signatures()

    def __dealloc__(self):
        cdef uint32_t row
        for row in range(self._row_room):
            self._free_ranges(row)
        PyMem_RawFree(self._rows)

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
            ranges = <Range *> resized(NULL, count * sizeof(Range))
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
            ranges = <Range *> resized(NULL, count * sizeof(Range))
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
        self._rows[row].ranges, self._rows[row].count = ranges, count
        self._link(row, self._signatures.number_of(symbols, count, tag_count))
        self.rows += 1
        return 0

    def describe(self, uint32_t row):
        """Return the symbols of a row, and its ranges."""
        cdef const Signature *signature = &self._signatures.items[self._rows[row].signature - 1]
        cdef const Range *each
        cdef uint32_t i, size = symbol_count(signature)
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
        cdef Signature *signature = &self._signatures.items[at.signature - 1]
        if at.previous:
            self._rows[at.previous - 1].next = at.next
        else:
            signature.first = at.next
        if at.next:
            self._rows[at.next - 1].previous = at.previous
        self._free_ranges(row)
        if not signature.first:
            self._signatures.remove(at.signature - 1)
        at.signature = at.next = at.previous = 0
        self.rows -= 1

    def wide(self, uint32_t row, uint32_t limit):
        """Return the other rows that cover a row surely, and those that do possibly; about `limit` of the former."""
        cdef const Signature *signature = &self._signatures.items[self._rows[row].signature - 1]
        cdef const uint64_t *values = signature.symbols + signature.attributes + signature.tags
        cdef uint64_t subsets = 1
        cdef uint32_t i
        self._begin(row, limit)
        for i in range(signature.attributes + signature.tags):
            subsets *= 3 if i < signature.attributes and values[i] else 2
            if subsets > MOST_SUBSETS:
                break
        if subsets <= MOST_SUBSETS and subsets <= <uint64_t> self._signatures.count * 2 + 8:
            self._visit_subsets(signature, 0, 0)
        else:
            self._visit_all_wide()
        return self._sure, self._possible

    def narrow(self, uint32_t row, uint32_t limit):
        """Return the other rows that a row covers surely, and those that it covers possibly.

        None if there are more than `limit` candidates: `narrow_among` finds them in slices.
        """
        cdef uint32_t number = self._rows[row].signature - 1
        cdef const Signature *signature = &self._signatures.items[number]
        cdef const uint64_t *values = signature.symbols + signature.attributes + signature.tags
        cdef const Posting *rarest = NULL
        cdef const Posting *posting
        cdef uint32_t i
        cdef uint64_t needed = self._signatures.required[number]
        self._begin(row, 0)
        self._left = limit
        for i in range(signature.attributes + signature.tags):
            posting = self._signatures.posting(values[i] if i < signature.attributes and values[i] else signature.symbols[i])
            if rarest == NULL or posting.count < rarest.count:
                rarest = posting
        if rarest == NULL:
            for i in range(self._signatures.count):
                if not self._visit_narrow(signature, i):
                    return None
            return self._sure, self._possible
        for i in range(rarest.count):
            if needed & ~self._signatures.offered[rarest.signatures[i]] == 0:
                if not self._visit_narrow(signature, rarest.signatures[i]):
                    return None
        return self._sure, self._possible

    def narrow_among(self, uint32_t row, uint32_t start, uint32_t end, uint32_t limit):
        """Return the rows from `start` to `end` that another one covers surely or possibly, and the next to visit.

        It stops after `limit` rows that it covers.
        """
        cdef uint32_t number = self._rows[row].signature - 1
        cdef const Signature *signature = &self._signatures.items[number]
        cdef uint64_t needed = self._signatures.required[number]
        cdef uint32_t narrow, found, aligned = 0
        self._begin(row, 0)
        for narrow in range(start, min(end, self._row_room)):
            found = self._rows[narrow].signature
            if not found or narrow == row or needed & ~self._signatures.offered[found - 1]:
                continue
            if found != aligned:
                aligned = 0
                if not self._signatures.align(signature, &self._signatures.items[found - 1]):
                    continue
                aligned = found
            self._file(narrow, self._compare(row, narrow))
            if <uint32_t> (len(self._sure) + len(self._possible)) >= limit:
                return self._sure, self._possible, narrow + 1
        return self._sure, self._possible, end

    def covers(self, uint32_t wide, uint32_t narrow):
        """Return 1 if a row surely covers another, 0 if it does not, and 2 if it does possibly."""
        cdef const Signature *items = self._signatures.items
        if not self._signatures.align(&items[self._rows[wide].signature - 1], &items[self._rows[narrow].signature - 1]):
            return NO
        return self._compare(wide, narrow)

    cdef void _begin(self, uint32_t row, uint32_t limit):
        self._sought, self._limit = row, limit
        self._sure, self._possible = [], []

    cdef int _visit_subsets(self, const Signature *offered, uint32_t place, uint64_t key) except -1:
        """Visit the signatures of all subsets of the offered symbols from a place on."""
        cdef uint64_t value
        if self._limit and <uint32_t> len(self._sure) >= self._limit:
            return 0
        if place == offered.attributes + offered.tags:
            self._visit_wide(offered, self._signatures.find(key, offered, False))
            return 0
        self._visit_subsets(offered, place + 1, key)
        self._visit_subsets(offered, place + 1, key + mixed(offered.symbols[place]))
        value = offered.symbols[offered.attributes + offered.tags + place] if place < offered.attributes else 0
        if value:
            self._visit_subsets(offered, place + 1, key + mixed(value))
        return 0

    cdef int _visit_all_wide(self) except -1:
        cdef uint32_t own = self._rows[self._sought].signature - 1
        cdef uint64_t offered = self._signatures.offered[own]
        cdef uint32_t i
        for i in range(self._signatures.count):
            if self._signatures.required[i] & ~offered == 0:
                self._visit_wide(&self._signatures.items[own], i + 1)
            if self._limit and <uint32_t> len(self._sure) >= self._limit:
                break
        return 0

    cdef int _visit_wide(self, const Signature *offered, uint32_t number) except -1:
        """Add the rows of a signature that cover the sought one."""
        cdef uint32_t row
        if not number or not self._signatures.items[number - 1].first:
            return 0
        if not self._signatures.align(&self._signatures.items[number - 1], offered):
            return 0
        row = self._signatures.items[number - 1].first
        while row and not (self._limit and <uint32_t> len(self._sure) >= self._limit):
            if row - 1 != self._sought:
                self._file(row - 1, self._compare(row - 1, self._sought))
            row = self._rows[row - 1].next
        return 0

    cdef bint _visit_narrow(self, const Signature *wide, uint32_t number) except -1:
        """Add the rows of a signature that the sought one covers; return False if too many were visited."""
        cdef const Range *w = self._rows[self._sought].ranges
        cdef uint32_t row = self._signatures.items[number].first
        cdef uint32_t first = 0
        if not self._left:
            return False
        self._left -= 1
        if not row or not self._signatures.align(wide, &self._signatures.items[number]):
            return True
        if wide.attributes:
            first = self._signatures.aligned[0]
        while row:
            if row - 1 != self._sought:
                if not wide.attributes or not is_outside(w, &self._rows[row - 1].ranges[first]):
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

    cdef int _compare(self, uint32_t wide, uint32_t narrow) except -1:
        """Return whether a row covers another; their signatures have been aligned."""
        cdef const Range *w = self._rows[wide].ranges
        cdef const Range *n = self._rows[narrow].ranges
        cdef const Range *narrower
        cdef uint32_t i
        cdef int found, answer = YES
        for i in range(self._rows[wide].count):
            narrower = &n[self._signatures.aligned[i]]
            found = NO if is_outside(&w[i], narrower) else contains(&w[i], narrower)
            if found == NO:
                return NO
            if found == POSSIBLY:
                answer = POSSIBLY
        return answer

    cdef void _link(self, uint32_t row, uint32_t number) noexcept:
        cdef Signature *signature = &self._signatures.items[number - 1]
        self._rows[row].signature, self._rows[row].next, self._rows[row].previous = number, signature.first, 0
        if signature.first:
            self._rows[signature.first - 1].previous = row + 1
        signature.first = row + 1

    cdef int _grow_rows(self, uint32_t row) except -1:
        cdef uint32_t room = row + row // 8 + 64
        cdef uint32_t i
        self._rows = <Row *> resized(self._rows, room * sizeof(Row))
        for i in range(self._row_room, room):
            self._rows[i].ranges = NULL
            self._rows[i].signature = self._rows[i].next = self._rows[i].previous = 0
        self._row_room = room
        return 0

    cdef void _free_ranges(self, uint32_t row) noexcept:
        cdef uint32_t i
        if self._rows[row].ranges == NULL:
            return
        for i in range(self._rows[row].count):
            Py_XDECREF(self._rows[row].ranges[i].text)
        PyMem_RawFree(self._rows[row].ranges)
        self._rows[row].ranges = NULL
