"""Contained rows: rows of ranges that lie inside another row, and can be dropped.

A row has words; a word has a symbol and a shape, which is a set of values:

    63            32 31             0
    ┌───────────────┬────────────────┐
    │ symbol        │ shape          │        words are in the order of their symbols
    └───────────────┴────────────────┘

A row asks for some words and has some, perhaps the same. It is inside another row if each shape that
the other asks for contains one that it has itself, of the same symbol. `packed_shapes.pxd` draws shapes.

Rows are found by the words under which they are filed, one for each symbol: its shape is inside all
shapes that the row has of the symbol. They are sorted by symbol and first member:

    entries   a:-3  a:0  a:0  a:7  a:40 │ b:0 …
    a > 5                    └─────────┘            candidates: one search skips the rest

A loose row has words of one symbol that no value satisfies together. It is filed under each of them,
in an index of its own. Rows are processed in the order of the caller; each drops the rows inside it, found
by the most selective of its symbols.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort

from cbnet._kernels.packed_shapes cimport AMONG, BETWEEN, EMPTY, MIX, NO, UNDECIDED, YES, Answer, PackedShapes

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef struct Entry:
    uint64_t key        # symbol and first member
    uint64_t mask       # a bit for each symbol of the row
    uint64_t signature  # of the shape
    uint32_t row
    uint32_t last       # the other sample member

cdef struct Span:
    Py_ssize_t first, end       # of entries
    uint64_t symbol
    uint64_t signature          # required of an entry
    uint32_t limit              # of the sample members of an entry
    bint is_cut                 # not all entries of the symbol


cdef int _compare(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const Entry *> left).key
    cdef uint64_t b = (<const Entry *> right).key
    return (a > b) - (a < b)


cdef uint64_t _mask(const uint64_t[::1] words, int64_t start, int64_t end) noexcept nogil:
    """Return a bit per symbol; symbols may share bits."""
    cdef uint64_t mask = 0
    cdef int64_t at
    for at in range(start, end):
        mask |= <uint64_t> 1 << (((words[at] >> 32) * MIX) >> 58)
    return mask


cdef class _Index:
    """Rows, sorted by the words under which they are filed."""

    cdef PackedShapes shapes
    cdef Entry *entries
    cdef Py_ssize_t count

    def __cinit__(self, PackedShapes shapes, Py_ssize_t room):
        self.shapes = shapes
        self.entries = <Entry *> PyMem_RawMalloc((room + 1) * sizeof(Entry))
        if self.entries == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_RawFree(self.entries)

    cdef void file(self, Py_ssize_t row, const uint64_t[::1] words, int64_t start, int64_t end) noexcept nogil:
        """Add a row under its words."""
        cdef uint64_t mask = _mask(words, start, end)
        cdef uint32_t shape
        cdef int64_t at
        cdef Entry *entry
        for at in range(start, end):
            shape = <uint32_t> words[at]
            entry = &self.entries[self.count]
            entry.key = (words[at] >> 32 << 32) | self.shapes.firsts[shape]
            entry.mask = mask
            entry.signature = self.shapes.signatures[shape]
            entry.row = <uint32_t> row
            entry.last = self.shapes.lasts[shape]
            self.count += 1

    cdef void sort(self) noexcept nogil:
        qsort(self.entries, self.count, sizeof(Entry), _compare)

    cdef Py_ssize_t _place(self, uint64_t key) noexcept nogil:
        """Return the index of the first entry that is not below a key."""
        cdef Py_ssize_t first = 0
        cdef Py_ssize_t count = self.count
        cdef Py_ssize_t half
        while count > 0:
            half = count >> 1
            if self.entries[first + half].key < key:
                first += half + 1
                count -= half + 1
            else:
                count = half
        return first

    cdef Span span(self, const uint64_t[::1] words, int64_t start, int64_t end) noexcept nogil:
        """Return the entries that may be inside all shapes asked for by words of one symbol."""
        cdef Span span
        cdef uint32_t low = 0
        cdef uint32_t high = EMPTY
        cdef uint32_t shape
        cdef int64_t at
        span.symbol = words[start] >> 32 << 32
        span.signature = 0
        span.is_cut = False
        for at in range(start, end):
            shape = <uint32_t> words[at]
            span.signature |= self.shapes.needed(shape)
            if self.shapes.asks[shape] == BETWEEN or self.shapes.asks[shape] == AMONG:
                span.is_cut = True
                low = max(low, self.shapes.lows[shape])
                high = min(high, self.shapes.highs[shape])
        span.limit = high - 1 if span.is_cut and high else EMPTY
        span.first = self._place(span.symbol | low)
        span.end = self._place(span.symbol | high) if span.is_cut else self._place(span.symbol + (<uint64_t> 1 << 32))
        return span

    cdef Span without_members(self, uint64_t symbol) noexcept nogil:
        """Return the entries of a symbol whose shape has no members: it is inside every shape."""
        cdef Span span
        span.symbol = symbol
        span.signature = 0
        span.is_cut = False
        span.limit = EMPTY
        span.first = self._place(symbol | EMPTY)
        span.end = self._place(symbol + (<uint64_t> 1 << 32))
        return span


cdef class _Search:
    """The rows and their indexes."""

    cdef PackedShapes shapes
    cdef object decide
    cdef const uint64_t[::1] words
    cdef const int64_t[::1] asked, had
    cdef uint8_t[::1] alive
    cdef _Index index, loose

    def __cinit__(self, PackedShapes shapes, const uint64_t[::1] words, const int64_t[::1] asked, const int64_t[::1] had,
                  const int64_t[::1] filed, const uint8_t[::1] is_loose, uint8_t[::1] alive, decide):
        cdef Py_ssize_t row, length
        cdef Py_ssize_t room = 0
        cdef Py_ssize_t loose_room = 0
        self.shapes, self.words, self.asked, self.had, self.alive, self.decide = shapes, words, asked, had, alive, decide
        for row in range(alive.shape[0]):
            length = filed[2 * row + 1] - filed[2 * row]
            room += length
            loose_room += is_loose[row] * length
        self.index, self.loose = _Index(shapes, room), _Index(shapes, loose_room)
        for row in range(alive.shape[0]):
            if alive[row]:
                (self.loose if is_loose[row] else self.index).file(row, words, filed[2 * row], filed[2 * row + 1])
        self.index.sort()
        self.loose.sort()

    cdef int drop_inside(self, Py_ssize_t wide) except -1:
        """Drop the rows that are inside a row."""
        cdef int64_t end = self.asked[2 * wide + 1]
        cdef int64_t start = self.asked[2 * wide]
        cdef int64_t stop = start
        cdef Span best, span
        if start == end:  # it asks for nothing: all others are inside
            self._drop_all_but(wide)
            return 0
        best.first, best.end = 0, PY_SSIZE_T_MAX
        while start < end:
            while stop < end and self.words[stop] >> 32 == self.words[start] >> 32:
                stop += 1
            span = self.index.span(self.words, start, stop)
            if span.end - span.first < best.end - best.first:
                best = span
            start = stop
        self._drop_among(wide, self.index, best)
        if self.loose.count:
            self._drop_loose(wide)
        return 0

    cdef int _drop_loose(self, Py_ssize_t wide) except -1:
        cdef int64_t at
        cdef Span best, span
        best.first, best.end = 0, PY_SSIZE_T_MAX
        for at in range(self.asked[2 * wide], self.asked[2 * wide + 1]):
            span = self.loose.span(self.words, at, at + 1)
            if span.end - span.first < best.end - best.first:
                best = span
        self._drop_among(wide, self.loose, best)
        if best.is_cut:
            self._drop_among(wide, self.loose, self.loose.without_members(best.symbol))
        return 0

    cdef void _drop_all_but(self, Py_ssize_t wide) noexcept nogil:
        cdef Py_ssize_t row
        for row in range(self.alive.shape[0]):
            self.alive[row] = row == wide

    cdef int _drop_among(self, Py_ssize_t wide, _Index index, Span span) except -1:
        """Drop the rows among some entries that are inside a row."""
        cdef uint64_t mask = _mask(self.words, self.asked[2 * wide], self.asked[2 * wide + 1])
        cdef Py_ssize_t place
        cdef const Entry *entry
        for place in range(span.first, span.end):
            entry = &index.entries[place]
            # Few pass; the tests of the entry itself are one branch, and the row is read last.
            if ((mask & ~entry.mask) | (span.signature & ~entry.signature) | (entry.last > span.limit)) == 0:
                if self.alive[entry.row] and entry.row != <uint32_t> wide and self._covers(wide, entry.row):
                    self.alive[entry.row] = 0
        return 0

    cdef bint _covers(self, Py_ssize_t wide, Py_ssize_t narrow) except -1:
        """Return whether each shape that the wide row asks for contains one that the narrow row has."""
        cdef int64_t at
        cdef int64_t start = self.had[2 * narrow]
        cdef int64_t end = self.had[2 * narrow + 1]
        for at in range(self.asked[2 * wide], self.asked[2 * wide + 1]):
            while start < end and self.words[start] >> 32 < self.words[at] >> 32:
                start += 1
            if not self._has_inside(<uint32_t> self.words[at], self.words[at] >> 32, start, end):
                return False
        return True

    cdef bint _has_inside(self, uint32_t wide, uint64_t symbol, int64_t start, int64_t end) except -1:
        cdef Answer answer
        while start < end and self.words[start] >> 32 == symbol:
            answer = self.shapes.contained(wide, <uint32_t> self.words[start])
            if answer == UNDECIDED:
                answer = YES if self.decide(wide, <uint32_t> self.words[start]) else NO
            if answer == YES:
                return True
            start += 1
        return False


def drop_contained(PackedShapes shapes, words, asked, had, filed, is_loose, const int64_t[::1] order, uint8_t[::1] alive, decide):
    """Write 0 to `alive` for each living row that is inside another living one.

    words: uint64. asked, had, filed: int64[rows, 2], flat: the first word of each row and the end.
    is_loose, alive: uint8[rows]. order: the rows; of rows that are inside each other
    the first stays. decide(wide shape, narrow shape) decides where the shapes alone do not.
    """
    cdef _Search search = _Search(shapes, words, asked, had, filed, is_loose, alive, decide)
    cdef Py_ssize_t place
    for place in range(order.shape[0]):
        PyErr_CheckSignals()  # 100,000 filters take long: allow Ctrl-C
        if alive[order[place]]:
            search.drop_inside(order[place])


def uncommon_rows(const uint64_t[::1] words, const int64_t[::1] offsets, const uint8_t[::1] uncommon):
    """Return the rows with two words of one symbol, or with an uncommon shape: a list.

    words: uint64, sorted by symbol in each row. offsets: int64[rows+1]. uncommon: uint8[shapes].
    """
    cdef Py_ssize_t row
    cdef int64_t at
    found = []
    for row in range(offsets.shape[0] - 1):
        for at in range(offsets[row], offsets[row + 1]):
            if uncommon[<uint32_t> words[at]] or (at > offsets[row] and words[at] >> 32 == words[at - 1] >> 32):
                found.append(row)
                break
    return found
