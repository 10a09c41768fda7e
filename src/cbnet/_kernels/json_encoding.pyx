"""Encoding of messages from JSON texts, without an object per value.

A text is read once, from left to right: names are looked up where they stand, and values that a filter uses are pushed.

    {"price": 12.5, "user": {"id": 7, "name": "Ann"}, "note": "…"}
      │       push    path_slot  push   skip            skip

All of a text is checked: its grammar, UTF-8, halves of surrogate pairs, repeated names. But a text is *left to Python*,
which reads it again and reports its errors, wherever that costs this kernel more than it gains: names with escapes, ints
beyond 64 bits, floats beyond 40 characters or 10**250, more than 64 levels, more than 128 names in an object, values that
computed attributes depend on. So the
kernel may refuse a message, but never accepts a text that Python refuses, nor reads another value.
"""

from cython cimport final

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from cbnet._kernels.byte_strings cimport hash_bytes
from cbnet._kernels.dict_encoding cimport DictEncoder, Place
from cbnet._kernels.frame_message cimport count_characters
from cbnet._kernels.intrinsics cimport trailing_zeros
from cbnet._kernels.memory cimport resized
from cbnet._kernels.message_encoding cimport TAG, Attribute, set_bool, set_float, set_int, set_null, set_text
from cbnet._kernels.symbol_table cimport Path, Symbols, extended_hash, find_hashed, find_symbol, has_text

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *text, char **end, void *overflow) except? -1.0

cdef extern from *:
    r"""
    #include <float.h>
    #define CBNET_ONES 0x0101010101010101ULL
    static const char cbnet_escapes[] = "\"\\/bfnrt";
    static const char cbnet_escaped[] = "\"\\/\b\f\n\r\t";
    """
    const int FLT_EVAL_METHOD
    const uint64_t ONES "CBNET_ONES"              # 1 in each byte
    const char *ESCAPES "cbnet_escapes"           # the characters after a backslash
    const char *ESCAPED "cbnet_escaped"           # and those that they stand for

cdef enum:
    MAX_DEPTH = 64              # levels of objects and arrays
    MAX_NAMES = 128             # of an object, compared one by one
    MAX_NUMBER = 40             # characters
    MAX_DIGITS = 19             # of a number below 2**64
    MAX_EXPONENT = 250          # written; with the digits, a float remains finite and normal
    EXACT_POWER = 22            # the largest power of ten that a float holds exactly

cdef enum Step:
    REFUSED = 0
    FOUND = 1
    CLOSED = 2                  # the end of an object or array

cdef struct Text:               # of a string, between its quotes
    const char *start
    Py_ssize_t length
    bint is_escaped

cdef double[EXACT_POWER + 1] POWERS = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
]


cdef inline bint _is_digit(uint8_t char) noexcept:
    return <uint8_t> (char - c"0") < 10


cdef inline int _hex(uint8_t char) noexcept:
    """Return the value of a hexadecimal digit, or -1."""
    if _is_digit(char):
        return char - c"0"
    char |= 0x20
    return char - c"a" + 10 if c"a" <= char <= c"f" else -1


cdef inline int64_t _code_unit(const uint8_t *at, const uint8_t *end) noexcept:
    """Return the number of four hexadecimal digits, or -1."""
    cdef int64_t unit = 0
    cdef int index, digit
    if end - at < 4:
        return -1
    for index in range(4):
        digit = _hex(at[index])
        if digit < 0:
            return -1
        unit = unit << 4 | digit
    return unit


cdef inline uint8_t *_write_character(uint8_t *out, uint32_t point) noexcept:
    """Write a character as UTF-8; return the end."""
    cdef int more = 0 if point < 0x80 else 1 if point < 0x800 else 2 if point < 0x10000 else 3
    cdef int index
    if more == 0:
        out[0] = <uint8_t> point
    else:
        out[0] = <uint8_t> (0xFF00 >> (more + 1) | point >> 6 * more)
        for index in range(1, more + 1):
            out[index] = 0x80 | (point >> 6 * (more - index) & 0x3F)
    return out + more + 1


@final
cdef class JsonEncoder(DictEncoder):
    """Writes messages to a batch, for one table: JSON texts, and what `DictEncoder` takes."""

    cdef const uint8_t *at
    cdef const uint8_t *end
    cdef bint has_dotted_top        # key of the last message
    cdef uint64_t *names            # hashes of the names of the objects around the current place: see `_is_repeated`
    cdef Py_ssize_t name_count

    def __cinit__(self, Symbols symbols not None):
        self.names = <uint64_t *> resized(NULL, MAX_DEPTH * MAX_NAMES * sizeof(uint64_t))

    def __dealloc__(self):
        PyMem_RawFree(self.names)

    def add_lines(self, list lines not None, Py_ssize_t first):
        """Add messages from index `first` on, up to one that is left to Python; return its index.

        Twin: `matching.files.message_files.add_line`.
        """
        cdef Py_ssize_t index
        cdef bytes line
        self.batch.kept.append(lines)
        for index in range(first, len(lines)):
            line = lines[index]
            if not self._add(<const uint8_t *> PyBytes_AS_STRING(line), PyBytes_GET_SIZE(line)):
                return index
        return len(lines)

    def add_texts(self, size_t offsets, size_t data, Py_ssize_t first, Py_ssize_t count, object owner):
        """Add messages as `add_lines` does, from an Arrow column, by the addresses of its buffers.

        offsets: int32[count + 1]; owner: keeps the buffers alive.
        """
        cdef const int32_t *bounds = <const int32_t *> offsets
        cdef const uint8_t *texts = <const uint8_t *> data
        cdef Py_ssize_t index
        self.batch.kept.append(owner)
        for index in range(first, count):
            if not self._add(texts + bounds[index], bounds[index + 1] - bounds[index]):
                return index
        return count

    cdef int _add(self, const uint8_t *text, Py_ssize_t length) except -1:
        """Add the message of a text; return 0 if it is left to Python."""
        cdef bint is_added = False
        cdef Py_ssize_t before = self.batch.count
        self.at, self.end = text, text + length
        self.name_count = 0
        self.has_dotted = self.has_dotted_top = False
        try:
            is_added = self._read_message() == 1
        finally:
            if not is_added and self.batch.count > before:
                self.batch.drop_message()
        return is_added

    # --- a message

    cdef int _read_message(self) except -1:
        cdef uint32_t elements = self.batch.element_count
        cdef bint is_first = True
        cdef Text name
        cdef Step step
        if not self.batch.begin_message():
            raise MemoryError
        if self._next() != c"{":
            return 0
        self.at += 1
        while True:
            step = self._read_name(&name, is_first)
            if step != FOUND:
                break
            is_first = False
            if not self._read_member(&name):
                return 0
        if step == REFUSED or self._next() != 0 or self.at != self.end:
            return 0
        # Elements beside dotted keys may have to be merged first.
        return not (self.batch.element_count > elements and (self.has_dotted or self.has_dotted_top))

    cdef int _read_member(self, const Text *name) except -1:
        """Read the value of a member of the message."""
        cdef uint64_t hash = hash_bytes(name.start, name.length, False)
        cdef int64_t symbol
        cdef Attribute attribute
        cdef Place place
        if self._is_repeated(hash, 0):
            return 0
        self.has_dotted_top |= memchr(name.start, c".", name.length) != NULL
        if name.length == 1 and name.start[0] == c"#":
            return self._read_tags() if self.symbols.count > self.symbols.names else self._skip(1)
        if self.symbols.uses_arrays() and self.symbols.is_root(name.start, name.length):
            return 0
        symbol = find_hashed(&self.symbols.table, name.start, name.length, False, hash)
        if not self._is_nested():
            if symbol < 0:
                return self._skip(1)
            if not self._read_scalar(&attribute):
                return 0
            self._push(symbol, 0, &attribute)
            return 1
        place.symbol = symbol
        place.hash = extended_hash(0, name.start, name.length)
        place.is_object = self.symbols.path_slot(place.hash).is_object
        if symbol < 0 and not place.is_object:
            return self._skip(1)
        place.length = self._set_path(0, name.start, name.length)
        place.element = 0
        place.depth = 1
        return self._read_nested(place)

    cdef int _read_tags(self) except -1:
        cdef Attribute attribute
        cdef Text tag
        cdef Step step
        cdef int64_t symbol
        cdef bint is_first = True
        if self._next() != c"[":
            return 0
        self.at += 1
        attribute.kind = TAG
        while True:
            step = self._find_item(is_first)
            if step != FOUND:
                return step == CLOSED
            is_first = False
            if self._next() != c'"' or not self._read_text(&tag) or not self._unescape(&tag):
                return 0
            symbol = find_symbol(&self.symbols.table, tag.start, tag.length, True)
            if symbol >= 0:
                self._push(symbol, 0, &attribute)

    # --- objects and arrays: the leaves that `DictEncoder` pushes, in the same order

    cdef int _read_nested(self, Place place) except -1:
        """Read an object or array."""
        self.batch.is_nested[self.batch.count - 1] = 1
        place.depth += 1
        if place.depth > MAX_DEPTH:
            return 0
        if self.at[0] == c"[":
            return self._read_list(place)
        return self._read_object(place) if place.is_object else self._skip(place.depth - 1)

    cdef int _read_object(self, Place place) except -1:
        cdef Py_ssize_t first_name = self.name_count
        cdef bint is_first = True
        cdef Text name
        cdef Step step
        self.at += 1
        self._set_path(place.length, ".", 1)
        place.hash = extended_hash(place.hash, ".", 1)
        while True:
            step = self._read_name(&name, is_first)
            if step != FOUND:
                self.name_count = first_name
                return step == CLOSED
            is_first = False
            if not self._read_inner(&name, place, first_name):
                return 0

    cdef int _read_inner(self, const Text *name, Place place, Py_ssize_t first_name) except -1:
        """Read the value of a member of an object at a place."""
        cdef Place member = place
        cdef Path *entry
        cdef Attribute attribute
        self.has_dotted |= memchr(name.start, c".", name.length) != NULL
        member.hash = extended_hash(place.hash, name.start, name.length)
        if self._is_repeated(member.hash, first_name):
            return 0
        entry = self.symbols.path_slot(member.hash)
        if entry.key == 0:
            return self._skip(place.depth)
        member.length = self._set_path(place.length + 1, name.start, name.length)
        member.symbol = -1
        member.is_object = entry.is_object
        if entry.symbol and has_text(&self.symbols.table, entry.symbol - 1, self.path, <uint64_t> member.length):
            member.symbol = entry.symbol - 1
        if self._is_nested():
            return self._read_nested(member)
        if member.symbol < 0:
            return self._skip(place.depth)
        if not self._read_scalar(&attribute):
            return 0
        self._push(member.symbol, place.element, &attribute)
        return 1

    cdef int _read_list(self, Place place) except -1:
        cdef uint32_t outer = place.element
        cdef uint32_t array
        cdef bint is_first = True
        cdef Step step
        cdef Attribute attribute
        self.at += 1
        self.batch.arrays += 1
        array = self.batch.arrays
        while True:
            step = self._find_item(is_first)
            if step != FOUND:
                return step == CLOSED
            is_first = False
            if not self._is_nested():
                if place.symbol < 0:
                    if not self._skip(place.depth):
                        return 0
                    continue
                if not self._read_scalar(&attribute):
                    return 0
                self._push(place.symbol, outer, &attribute)
                continue
            if self.at[0] == c"{" and not place.is_object:
                if not self._skip(place.depth):
                    return 0
                continue
            place.element = self._push_element(outer, array)
            if not self._read_nested(place):
                return 0

    # --- values that no filter uses

    cdef int _skip(self, uint32_t depth) except -1:
        """Read a value inside a number of objects and arrays."""
        cdef uint8_t char = self._next()
        cdef Py_ssize_t first_name = self.name_count
        cdef bint is_first = True
        cdef Attribute unused
        cdef Text text
        cdef Step step
        if char == c'"':
            return self._read_text(&text)
        if char != c"{" and char != c"[":
            return self._read_word(&unused, False)
        if depth >= MAX_DEPTH:
            return 0
        self.at += 1
        while True:
            if char == c"{":
                step = self._read_name(&text, is_first)
                if step == FOUND and self._is_repeated(hash_bytes(text.start, text.length, False), first_name):
                    return 0
            else:
                step = self._find_item(is_first)
            if step != FOUND:
                self.name_count = first_name
                return step == CLOSED
            is_first = False
            if not self._skip(depth + 1):
                return 0

    # --- grammar

    cdef inline uint8_t _next(self) noexcept:
        """Return the next character that is not blank; 0 at the end, as at a zero byte, which no JSON has here."""
        while self.at < self.end:
            if self.at[0] > c" " or not (self.at[0] == c" " or self.at[0] == c"\n" or self.at[0] == c"\r" or self.at[0] == c"\t"):
                return self.at[0]
            self.at += 1
        return 0

    cdef inline bint _is_nested(self) noexcept:
        """Return whether the next value is an object or array, which then begins at the current place."""
        cdef uint8_t char = self._next()
        return char == c"{" or char == c"["

    cdef inline Step _find_item(self, bint is_first) noexcept:
        """Go to the next item of an array."""
        cdef uint8_t char = self._next()
        if char == c"]" :
            self.at += 1
            return CLOSED
        if is_first:
            return FOUND if char else REFUSED
        if char != c",":
            return REFUSED
        self.at += 1
        return FOUND if self._next() != c"]" else REFUSED

    cdef Step _read_name(self, Text *name, bint is_first) noexcept:
        """Read the next name of an object, and the colon after it."""
        cdef uint8_t char = self._next()
        if char == c"}":
            self.at += 1
            return CLOSED
        if not is_first:
            if char != c",":
                return REFUSED
            self.at += 1
            char = self._next()
        if char != c'"' or not self._read_text(name) or name.is_escaped or self._next() != c":":
            return REFUSED
        self.at += 1
        return FOUND

    cdef inline bint _is_repeated(self, uint64_t hash, Py_ssize_t first) noexcept:
        """Return whether an object has a name of this hash, or too many; add it.

            names   outer, outer, outer │ inner, inner │ …       objects around the current place
                                          first          name_count
        """
        cdef Py_ssize_t index
        cdef bint is_known = False
        for index in range(first, self.name_count):
            is_known |= self.names[index] == hash
        if is_known or self.name_count - first == MAX_NAMES:
            return True
        self.names[self.name_count] = hash
        self.name_count += 1
        return False

    # --- strings

    cdef bint _read_text(self, Text *text) noexcept:
        """Read a string."""
        cdef const uint8_t *at = self.at + 1
        cdef const uint8_t *end = self.end
        cdef uint64_t chunk, marked
        cdef uint64_t seen = 0
        text.start = <const char *> at
        text.is_escaped = False
        while True:
            while end - at >= 8:
                memcpy(&chunk, at, 8)
                # The lowest marked byte, if any, is a quote, a backslash or a control character.
                marked = (((chunk ^ 0x22 * ONES) - ONES) & ~chunk | ((chunk ^ 0x5C * ONES) - ONES) & ~chunk
                          | (chunk - 0x20 * ONES) & ~chunk) & (0x80 * ONES)
                if marked:
                    seen |= chunk & ((marked & (0 - marked)) - 1)
                    at += trailing_zeros(marked) >> 3
                    break
                seen |= chunk
                at += 8
            while at < end and at[0] >= 0x20 and at[0] != c'"' and at[0] != c"\\":
                seen |= at[0]
                at += 1
            if at == end or at[0] < 0x20:
                return False
            if at[0] == c'"':
                break
            text.is_escaped = True
            at = self._end_of_escape(at + 1)
            if at == NULL:
                return False
        text.length = <const char *> at - text.start
        self.at = at + 1
        if text.length >= 0xFFFFFFFF:
            return False
        return seen & (0x80 * ONES) == 0 or count_characters(<const uint8_t *> text.start, text.length) >= 0

    cdef const uint8_t *_end_of_escape(self, const uint8_t *at) noexcept:
        """Return the end of an escape, of both halves of a surrogate pair, or NULL; at: after the backslash."""
        cdef int64_t unit
        if at == self.end:
            return NULL
        if at[0] != c"u":
            return at + 1 if memchr(ESCAPES, at[0], 8) != NULL else NULL
        unit = _code_unit(at + 1, self.end)
        at += 5
        if unit < 0 or 0xDC00 <= unit < 0xE000:
            return NULL
        if 0xD800 <= unit < 0xDC00:
            if self.end - at < 6 or at[0] != c"\\" or at[1] != c"u":
                return NULL
            unit = _code_unit(at + 2, self.end)
            return at + 6 if 0xDC00 <= unit < 0xE000 else NULL
        return at

    cdef int _unescape(self, Text *text) except -1:
        """Replace the escapes of a string in a copy, which the batch keeps."""
        cdef const uint8_t *at = <const uint8_t *> text.start
        cdef const uint8_t *end = at + text.length
        cdef bytes copy
        cdef uint8_t *out
        cdef uint32_t point
        if not text.is_escaped:
            return 1
        copy = PyBytes_FromStringAndSize(NULL, text.length)  # no escape is shorter than its character
        self.batch.kept.append(copy)
        text.start = PyBytes_AS_STRING(copy)
        out = <uint8_t *> text.start
        while at < end:
            if at[0] != c"\\":
                out[0] = at[0]
                at, out = at + 1, out + 1
            elif at[1] != c"u":
                out[0] = ESCAPED[<const char *> memchr(ESCAPES, at[1], 8) - ESCAPES]
                at, out = at + 2, out + 1
            else:
                point = <uint32_t> _code_unit(at + 2, end)
                at += 6
                if 0xD800 <= point < 0xDC00:
                    point = 0x10000 + ((point & 0x3FF) << 10 | <uint32_t> _code_unit(at + 2, end) & 0x3FF)
                    at += 6
                out = _write_character(out, point)
        text.length = <const char *> out - text.start
        return 1

    # --- scalars

    cdef int _read_scalar(self, Attribute *attribute) except -1:
        """Read a value that is no object or array."""
        cdef Text text
        if self._next() != c'"':
            return self._read_word(attribute, True)
        if not self._read_text(&text) or not self._unescape(&text):
            return 0
        set_text(attribute, text.start, <uint32_t> text.length)
        return 1

    cdef int _read_word(self, Attribute *attribute, bint is_used) except -1:
        """Read a number, true, false or null."""
        cdef uint8_t char = self._next()
        if char == c"t":
            set_bool(attribute, True)
            return self._is_word(b"true", 4)
        if char == c"f":
            set_bool(attribute, False)
            return self._is_word(b"false", 5)
        if char == c"n":
            set_null(attribute)
            return self._is_word(b"null", 4)
        return self._read_number(attribute, is_used)

    cdef inline bint _is_word(self, const char *word, Py_ssize_t length) noexcept:
        if self.end - self.at < length or memcmp(self.at, word, length) != 0:
            return False
        self.at += length
        return True

    cdef int _read_number(self, Attribute *attribute, bint is_used) except -1:
        """Read a number; it is written only if it is used."""
        cdef const uint8_t *start = self.at
        cdef const uint8_t *first
        cdef bint is_negative = self.at < self.end and self.at[0] == c"-"
        cdef uint64_t digits = 0
        cdef int64_t power = 0
        cdef Py_ssize_t count
        self.at += is_negative
        first = self.at
        count = self._read_digits(&digits)
        if count == 0 or (count > 1 and first[0] == c"0"):
            return 0
        if self.at == self.end:
            return 0                    # no message ends with a number
        if self.at[0] != c"." and self.at[0] | 0x20 != c"e":
            if count > MAX_DIGITS or digits > <uint64_t> INT64_MAX:
                return 0
            set_int(attribute, -<int64_t> digits if is_negative else <int64_t> digits)
            return 1
        if self.at[0] == c".":
            self.at += 1
            power = -self._read_digits(&digits)
            if power == 0:
                return 0
            count -= power
        if self.at < self.end and self.at[0] | 0x20 == c"e" and not self._read_exponent(&power):
            return 0
        if self.at - start > MAX_NUMBER or self.at == self.end:
            return 0
        return self._write_float(attribute, start, digits, count, power, is_negative) if is_used else 1

    cdef inline Py_ssize_t _read_digits(self, uint64_t *number) noexcept:
        """Read digits at the end of a number; return how many there are. Beyond 19 of them, the number is wrong."""
        cdef const uint8_t *first = self.at
        while self.at < self.end and _is_digit(self.at[0]):
            number[0] = 10 * number[0] + (self.at[0] - c"0")
            self.at += 1
        return self.at - first

    cdef inline bint _read_exponent(self, int64_t *power) noexcept:
        cdef uint64_t exponent = 0
        cdef bint is_negative
        self.at += 1
        is_negative = self.at < self.end and self.at[0] == c"-"
        self.at += is_negative or (self.at < self.end and self.at[0] == c"+")
        if not 1 <= self._read_digits(&exponent) <= 3 or exponent > MAX_EXPONENT:
            return False
        power[0] += -<int64_t> exponent if is_negative else <int64_t> exponent
        return True

    cdef int _write_float(self, Attribute *attribute, const uint8_t *start, uint64_t digits, Py_ssize_t count,
                          int64_t power, bint is_negative) except -1:
        """Write the float nearest to digits · 10**power; start: its text, which another character follows."""
        cdef double number
        cdef char *end
        # A quotient or product of two exact floats is rounded once.
        if FLT_EVAL_METHOD == 0 and count <= MAX_DIGITS and digits <= <uint64_t> 1 << 53 and -EXACT_POWER <= power <= EXACT_POWER:
            number = <double> digits / POWERS[-power] if power < 0 else <double> digits * POWERS[power]
            return set_float(attribute, -number if is_negative else number)
        number = PyOS_string_to_double(<const char *> start, &end, NULL)
        return <const uint8_t *> end == self.at and set_float(attribute, number)
