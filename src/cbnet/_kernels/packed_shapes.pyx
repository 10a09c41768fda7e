"""Shapes: sets of values of one attribute. See `packed_shapes.pxd`."""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from cbnet._kernels.byte_strings cimport find_bytes


cdef inline bint _has(Text text, Text part, bint at_end) noexcept nogil:
    """Return whether a text contains a part, or ends with it."""
    if part.length > text.length:
        return False
    if at_end:
        return memcmp(text.data + text.length - part.length, part.data, part.length) == 0
    return part.length == 0 or find_bytes(text.data, text.length, part.data, part.length) != NULL


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
        answer = self.contained(wide, narrow)
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

    cdef uint64_t needed(self, uint32_t wide) noexcept nogil:
        """Return the bits required of a shape inside a shape that is asked for."""
        if self.asks[wide] == OTHER_THAN:
            return _value_bit(self.operands[wide])
        return 0 if self.asks[wide] < OTHER_THAN else _text_bits(self._text(self.operands[wide]))

    cdef Answer contained(self, uint32_t wide, uint32_t narrow) noexcept nogil:
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
