"""Contained rows: rows of ranges that lie inside another row, and can be dropped.

A row has words; a word has a symbol and a shape, which is a set of values:

    63            32 31             0
    ┌───────────────┬────────────────┐
    │ symbol        │ shape          │        words are in the order of their symbols
    └───────────────┴────────────────┘

A row asks for some words and has some, perhaps the same. It is inside another row if each shape that
the other asks for contains one that it has itself, of the same symbol. All values that occur are ranked in
one order, null, bools, numbers, strings, and a shape is

    low ●───────first────────last───────( high      an interval of ranks of one type, closed below and
                                                    open above, two sample members, and for strings
                                                    texts that every member contains

A finite shape has its smallest and largest member as ends; only the caller knows the members between them.

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
from libc.string cimport memcmp

cdef extern from "string.h" nogil:
    void *memmem(const void *haystack, size_t haystack_length, const void *needle, size_t needle_length)

cdef extern from *:
    """
    #define MIX 0x9E3779B97F4A7C15ULL
    #define EMPTY 0xFFFFFFFFU   /* first of a shape without members */
    #define ANY 0xFFFFFFFEU     /* first of a shape of all values of all types */
    #define NO_TEXT 0xFFFFFFFFU
    #define FINITE 2            /* in `bounded`: a list of values */
    #define VALUE_BITS 0xFFFFFF0000000000ULL
    """
    const uint64_t MIX, VALUE_BITS
    const uint32_t EMPTY, ANY, NO_TEXT, FINITE

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef enum Asks:
    ALL, BETWEEN, AMONG, NOT_NULL, OTHER_THAN, ENDS_WITH, CONTAINS

cdef enum Answer:
    NO, YES, UNDECIDED

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

cdef struct Text:
    const char *data
    size_t length


cdef int _compare(const void *left, const void *right) noexcept nogil:
    cdef uint64_t a = (<const Entry *> left).key
    cdef uint64_t b = (<const Entry *> right).key
    return (a > b) - (a < b)


cdef inline bint _has(Text text, Text part, bint at_end) noexcept nogil:
    """Return whether a text contains a part, or ends with it."""
    if part.length > text.length:
        return False
    if at_end:
        return memcmp(text.data + text.length - part.length, part.data, part.length) == 0
    return part.length == 0 or memmem(text.data, text.length, part.data, part.length) != NULL


cdef inline uint64_t _value_bit(uint32_t rank) noexcept nogil:
    return <uint64_t> 1 << (40 + (rank * MIX >> 32) % 24)


cdef inline uint64_t _text_bits(Text text) noexcept nogil:
    cdef uint64_t bits = 0
    cdef size_t at
    cdef uint32_t pair
    for at in range(1, text.length):
        pair = (<uint32_t> <uint8_t> text.data[at - 1] << 8) | <uint8_t> text.data[at]
        bits |= <uint64_t> 1 << (pair * MIX >> 32) % 40
    return bits


cdef class PackedShapes:
    """Sets of values, as flat arrays.

    asks, bounded: uint8[n]; operands, lows, highs, firsts, lasts, stems, suffixes: uint32[n].
    excluded_offsets, piece_offsets: uint32[n+1], into excluded, pieces: uint32[...].
    text_data: uint8[bytes], text_offsets: uint64[strings+1]; the first string has the rank `strings`,
    the first number the rank `numbers`.
    """

    cdef const uint8_t[::1] asks, bounded
    cdef const uint32_t[::1] operands, lows, highs, firsts, lasts, stems, suffixes
    cdef const uint32_t[::1] excluded_offsets, excluded, piece_offsets, pieces
    cdef const uint8_t[::1] text_data
    cdef const uint64_t[::1] text_offsets
    cdef uint32_t numbers, strings, end
    cdef uint64_t *signatures

    def __cinit__(self, dict arrays, uint32_t numbers, uint32_t strings):
        cdef Py_ssize_t shape
        self.asks = arrays["asks"]
        self.bounded = arrays["bounded"]
        self.operands = arrays["operands"]
        self.lows = arrays["lows"]
        self.highs = arrays["highs"]
        self.firsts = arrays["firsts"]
        self.lasts = arrays["lasts"]
        self.stems = arrays["stems"]
        self.suffixes = arrays["suffixes"]
        self.excluded_offsets = arrays["excluded_offsets"]
        self.excluded = arrays["excluded"]
        self.piece_offsets = arrays["piece_offsets"]
        self.pieces = arrays["pieces"]
        self.text_data = arrays["text_data"]
        self.text_offsets = arrays["text_offsets"]
        self.numbers = numbers
        self.strings = strings
        self.end = strings + <uint32_t> (self.text_offsets.shape[0] - 1)
        self.signatures = <uint64_t *> PyMem_RawMalloc((self.asks.shape[0] + 1) * sizeof(uint64_t))
        if self.signatures == NULL:
            raise MemoryError
        for shape in range(self.asks.shape[0]):
            self.signatures[shape] = self._signature(shape)

    def __dealloc__(self):
        PyMem_RawFree(self.signatures)

    def contains(self, uint32_t wide, uint32_t narrow):
        """Return whether a shape that is asked for contains another; None if only a search can decide."""
        answer = self._contains(wide, narrow)
        return None if answer == UNDECIDED else answer == YES

    cdef inline Text _text(self, uint32_t rank) noexcept nogil:
        cdef Text text
        cdef uint64_t start = self.text_offsets[rank - self.strings]
        text.length = self.text_offsets[rank - self.strings + 1] - start
        text.data = <const char *> &self.text_data[0] + start
        return text

    cdef inline int _type(self, uint32_t rank) noexcept nogil:
        return (rank >= self.numbers) + (rank >= self.strings)

    cdef uint64_t _signature(self, Py_ssize_t shape) noexcept nogil:
        """Return the bits of a shape; it can be inside another only if it has all bits that the other needs.

        An upper bit for each excluded value, or all if something else may exclude it; and a lower bit for
        every two consecutive bytes of the first member.
        """
        cdef uint64_t bits = 0
        cdef uint32_t at
        if self.firsts[shape] == EMPTY:
            return ~bits
        if self.firsts[shape] == ANY:
            return 0
        if not self.bounded[shape]:
            for at in range(self.excluded_offsets[shape], self.excluded_offsets[shape + 1]):
                bits |= _value_bit(self.excluded[at])
            return bits
        if self._type(self.firsts[shape]) == 2:
            bits = _text_bits(self._text(self.firsts[shape]))
        return bits | VALUE_BITS

    cdef uint64_t _needed(self, uint32_t wide) noexcept nogil:
        """Return the bits required of a shape inside a shape that is asked for."""
        if self.asks[wide] == OTHER_THAN:
            return _value_bit(self.operands[wide])
        return 0 if self.asks[wide] < OTHER_THAN else _text_bits(self._text(self.operands[wide]))

    cdef Answer _contains(self, uint32_t wide, uint32_t narrow) noexcept nogil:
        cdef uint32_t first = self.firsts[narrow]
        cdef Asks asks = <Asks> self.asks[wide]
        if first == EMPTY or asks == ALL:
            return YES
        if asks == NOT_NULL:
            return YES if self.lows[narrow] else NO  # null has the rank 0
        if first == ANY:
            return NO
        if asks <= AMONG:
            if first < self.lows[wide] or self.lasts[narrow] >= self.highs[wide]:
                return NO
            if asks == AMONG:
                return UNDECIDED
            if self.lows[wide] <= self.lows[narrow] and self.highs[narrow] <= self.highs[wide]:
                return YES
            return self._sticks_out(wide, narrow)
        if self._type(first) != self._type(self.operands[wide]):
            return NO
        if self.bounded[narrow] == FINITE:
            return UNDECIDED
        if asks == OTHER_THAN:
            return NO if self._holds(narrow, self.operands[wide]) else YES
        return self._all_have(narrow, self._text(self.operands[wide]), asks == ENDS_WITH)

    cdef Answer _sticks_out(self, uint32_t wide, uint32_t narrow) noexcept nogil:
        """Decide for strings whose interval extends beyond the other, though both sample members are inside.

        The part beyond is an interval. If it has a fan, one of its strings has all required texts.
        """
        if self.lows[narrow] < self.lows[wide] and not self._is_thin(self.lows[narrow], self.lows[wide]):
            return NO
        if self.highs[wide] < self.highs[narrow] and not self._is_thin(self.highs[wide], self.highs[narrow]):
            return NO
        return UNDECIDED

    cdef bint _is_thin(self, uint32_t low, uint32_t high) noexcept nogil:
        """Return whether an interval of strings has no fan: its end is its start and NULs."""
        cdef Text start, end
        cdef size_t at
        if high == self.end:
            return False
        start = self._text(low)
        end = self._text(high)
        if end.length < start.length or memcmp(start.data, end.data, start.length) != 0:
            return False
        for at in range(start.length, end.length):
            if end.data[at] != 0:
                return False
        return True

    cdef bint _is_point(self, uint32_t shape) noexcept nogil:
        """Return whether an interval of strings contains one string: its end is its start and one NUL."""
        cdef uint32_t low = self.lows[shape]
        cdef uint32_t high = self.highs[shape]
        return high != self.end and self._text(high).length == self._text(low).length + 1 and self._is_thin(low, high)

    cdef bint _holds(self, uint32_t shape, uint32_t value) noexcept nogil:
        """Return whether a value of its type is in a shape."""
        cdef Text text
        cdef uint32_t at
        if value < self.lows[shape] or value >= self.highs[shape]:
            return False
        for at in range(self.excluded_offsets[shape], self.excluded_offsets[shape + 1]):
            if self.excluded[at] == value:
                return False
        if value < self.strings:
            return True
        text = self._text(value)
        if self.suffixes[shape] != NO_TEXT and not _has(text, self._text(self.suffixes[shape]), True):
            return False
        for at in range(self.piece_offsets[shape], self.piece_offsets[shape + 1]):
            if not _has(text, self._text(self.pieces[at]), False):
                return False
        return True

    cdef Answer _all_have(self, uint32_t shape, Text asked, bint at_end) noexcept nogil:
        """Return whether all strings in a shape contain a text, or end with it."""
        cdef uint32_t at
        if not _has(self._text(self.firsts[shape]), asked, at_end):
            return NO
        if self._is_point(shape):
            return YES
        if self.suffixes[shape] != NO_TEXT and _has(self._text(self.suffixes[shape]), asked, at_end):
            return YES
        if at_end:  # the end of a string of a fan is free, except for the suffix
            return UNDECIDED if self._is_thin(self.lows[shape], self.highs[shape]) else NO
        for at in range(self.piece_offsets[shape], self.piece_offsets[shape + 1]):
            if _has(self._text(self.pieces[at]), asked, False):
                return YES
        if self.stems[shape] == NO_TEXT:
            return UNDECIDED
        return YES if _has(self._text(self.stems[shape]), asked, False) else NO


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
            span.signature |= self.shapes._needed(shape)
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
            answer = self.shapes._contains(wide, <uint32_t> self.words[start])
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
