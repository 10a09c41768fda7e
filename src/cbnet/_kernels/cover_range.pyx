"""Ranges of values: their keys, their texts, and containment (`cover_range.pxd`)."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, nextafter
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize, find_bytes
from cbnet._kernels.message_encoding cimport BOOL, NUMBER, STRING
from cbnet._kernels.plain_filter cimport PlainConstraint, constant_of, is_plain_constraint
from cbnet._kernels.test_codes cimport OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE, OP_PREFIX, OP_SUBSTRING, OP_SUFFIX

cdef enum:
    MAX_MEMBERS = 1 << 17  # of a finite set; a filter has at most 64 KiB


cdef uint64_t _number_key(double number) noexcept:
    cdef uint64_t bits
    number += 0.0  # no negative zero
    memcpy(&bits, &number, 8)
    return ~bits if bits >> 63 else bits | (<uint64_t> 1 << 63)


cdef uint64_t _text_key(bytes text) noexcept:
    cdef uint64_t key = 0
    cdef Py_ssize_t i, size = PyBytes_GET_SIZE(text)
    for i in range(8):
        key = key << 8 | (<uint8_t> PyBytes_AS_STRING(text)[i] if i < size else 0)
    return key


cdef inline int _compared(bytes left, bytes right) noexcept:
    cdef Py_ssize_t sizes = PyBytes_GET_SIZE(left) - PyBytes_GET_SIZE(right)
    cdef int order = memcmp(
        PyBytes_AS_STRING(left), PyBytes_AS_STRING(right), min(PyBytes_GET_SIZE(left), PyBytes_GET_SIZE(right)))
    return order if order else (1 if sizes > 0 else -1 if sizes else 0)


cdef inline bint _is_part(bytes text, bytes part) noexcept:
    return find_bytes(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text),
                      PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part)) != NULL


cdef inline bint _ends_with(bytes text, bytes part) noexcept:
    cdef Py_ssize_t start = PyBytes_GET_SIZE(text) - PyBytes_GET_SIZE(part)
    return start >= 0 and memcmp(PyBytes_AS_STRING(text) + start, PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part)) == 0


cdef uint64_t _pairs(bytes text) noexcept:
    """Return a Bloom filter of the pairs of bytes in a text."""
    cdef uint64_t pairs = 0
    cdef const uint8_t *data = <const uint8_t *> PyBytes_AS_STRING(text)
    cdef Py_ssize_t i
    for i in range(PyBytes_GET_SIZE(text) - 1):
        pairs |= bloom_bit(<uint64_t> data[i] << 8 | data[i + 1])
    return pairs


cdef void _set_text(Range *range, object text, bytes low, bytes high):
    """Set the text and the keys of a string range; high: None if there is no upper end."""
    cdef bint is_point = range.flags & POINT
    range.text = <PyObject *> text
    range.pairs = _pairs(<bytes> (text if is_point else (<tuple> text)[2]))
    range.needed = 0
    if not is_point:
        range.needed = _pairs(<bytes> (<tuple> text)[3])
        for piece in <tuple> (<tuple> text)[4]:
            range.needed |= _pairs(<bytes> piece)
    range.low = _text_key(low)
    range.high = ~<uint64_t> 0 if high is None else _text_key(high)


cdef class CoverRange:
    """A range of values of one attribute, or of outcomes of a test."""

    def __init__(self, int kind, int flags, low, high, uint64_t members, text, uint64_t value):
        self.range.kind = <uint8_t> kind
        self.range.flags = <uint16_t> flags
        self.range.members = members
        self.range.text = NULL
        self.value = value
        self._text = text
        if kind == NUMBER:
            self.range.low = _number_key(low)
            self.range.high = _number_key(high)
            if flags & ONE_EXCLUDED:
                self.range.needed = _number_key(text)
        elif kind == STRING:
            _set_text(&self.range, text, low, high)
        else:
            self.range.low = low
            self.range.high = high


# --- ranges of plain filters, as `language.relations.cover_index` computes those of all

cdef int _number_range(const PlainConstraint *constraint, Range *range) noexcept:
    """Set the ends of a range of numbers; the numbers next to a constant are floats."""
    cdef double low = -DBL_MAX
    cdef double high = DBL_MAX
    cdef double constant = constraint.constant.high
    if constraint.op == OP_LT:
        high = nextafter(constant, -INFINITY)
    elif constraint.op == OP_LE:
        high = constant
    elif constraint.op == OP_GT:
        low = nextafter(constant, INFINITY)
    elif constraint.op == OP_GE:
        low = constant
    elif constraint.op == OP_EQ:
        low = high = constant
    range.low, range.high = _number_key(low), _number_key(high)
    return 0


cdef tuple _string_range(const PlainConstraint *constraint):
    """Return the text of a range of strings; None if Python must compute it."""
    cdef const char *text = constraint.constant.text
    cdef Py_ssize_t length = constraint.constant.length
    cdef bytes constant = text[:length]
    cdef bytes end
    if memchr(text, 0, length) != NULL:
        return None
    if constraint.op == OP_LT:
        return b"", constant, b"", b"", (), None
    if constraint.op == OP_LE:
        return b"", constant + b"\0", b"", b"", (), None
    if constraint.op == OP_GT:
        end = constant + b"\0"
        return end, None, end, b"", (), None
    if constraint.op == OP_GE:
        return constant, None, constant, b"", (), None
    if constraint.op == OP_NE:
        return b"", None, b"", b"", (), constant
    if constraint.op == OP_SUFFIX:
        return b"", None, constant, constant, (), None
    if constraint.op == OP_PREFIX:
        if <uint8_t> text[length - 1] >= 0x7F:  # the next character takes another number of bytes, or none follows
            return None
        return constant, text[:length - 1] + <bytes> (text[length - 1] + 1).to_bytes(), constant, b"", (), None
    return b"", None, constant, b"", (constant,), None


cdef bint plain_range(const PlainConstraint *constraint, Range *range, uint64_t *value) except -1:
    """Set the range of a constraint, with a reference to its text; return False if Python must compute it.

    value: the symbol of a point, without its name; 0: not a point.
    """
    cdef uint64_t hashed
    cdef object text = None
    range.kind = constraint.constant.kind
    range.flags = NOT_NULL_FLAG
    range.members = range.pairs = range.needed = value[0] = 0
    range.text = NULL
    if constraint.op == OP_EQ:
        constant = constant_of(constraint)
        hashed = <uint64_t> hash((<int> range.kind, constant))
        range.flags |= POINT
        range.members = <uint64_t> 1 << (hashed & 63)
        value[0] = hashed if hashed else 1
    elif constraint.op == OP_NE:
        range.flags |= EXCLUDED | ONE_EXCLUDED | WHOLE
        range.members = <uint64_t> 1 << (<uint64_t> hash((<int> range.kind, constant_of(constraint))) & 63)
        if range.kind == NUMBER:
            range.needed = _number_key(constraint.constant.high)
    if range.kind == BOOL:
        range.low = range.high = constraint.constant.high != 0
    elif range.kind == NUMBER:
        _number_range(constraint, range)
    elif constraint.op == OP_EQ:
        text = <bytes> constraint.constant.text[:constraint.constant.length]
        _set_text(range, text, text, <bytes> text + b"\0")
    else:
        text = _string_range(constraint)
        if text is None:
            return False
        if constraint.op > OP_PREFIX or constraint.op == OP_NE:
            range.flags |= LOOSE
        _set_text(range, text, (<tuple> text)[0], (<tuple> text)[1])
    Py_XINCREF(range.text)
    return True


def range_of(uint8_t op, uint8_t kind, value):
    """Return the range of a constraint on values of one type; None if Python must compute it."""
    cdef PlainConstraint constraint
    cdef CoverRange found = CoverRange.__new__(CoverRange)
    cdef Py_ssize_t length
    if op > OP_SUBSTRING:
        return None
    constraint.name.length, constraint.op, constraint.constant.kind = 0, op, kind
    constraint.is_int = isinstance(value, int)
    if kind == STRING:
        constraint.constant.text = PyUnicode_AsUTF8AndSize(value, &length)
        constraint.constant.length = <uint32_t> length
    elif kind <= NUMBER:
        constraint.constant.high = value
    if not is_plain_constraint(&constraint) or not plain_range(&constraint, &found.range, &found.value):
        return None
    if found.range.text != NULL:
        found._text = <object> found.range.text
        Py_XDECREF(found.range.text)
    return found


cdef bint _is_thin(bytes low, object high) except -1:
    """Return whether an interval of strings has few members: its end is its start and NULs.

    In any other, all continuations of some prefix are members: the required texts can follow, and nothing else must.
    """
    cdef Py_ssize_t size = PyBytes_GET_SIZE(low)
    return high is not None and (<bytes> high).startswith(low) and not (<bytes> high)[size:].strip(b"\0")


cdef int _string_interval(const Range *wide, const Range *narrow) except -1:
    """Return whether the interval of one string range is in that of another; surely or not."""
    cdef tuple w = <tuple> wide.text
    cdef bytes low, text
    if wide.low > narrow.low:
        return NO
    low = <bytes> w[0]
    text = <bytes> narrow.text if narrow.flags & POINT else <bytes> (<tuple> narrow.text)[0]
    if wide.low == narrow.low and _compared(low, text) > 0:
        return NO
    if w[1] is None:
        return YES
    if narrow.flags & POINT:
        return YES if _compared(text, <bytes> w[1]) < 0 else NO
    if (<tuple> narrow.text)[1] is None or wide.high < narrow.high:
        return NO
    return YES if wide.high > narrow.high or _compared(<bytes> (<tuple> narrow.text)[1], <bytes> w[1]) <= 0 else NO


cdef bint _is_prefix(bytes low, bytes high) noexcept:
    """Return whether an interval has the strings that begin with its start, and no other; surely or not."""
    cdef Py_ssize_t last = PyBytes_GET_SIZE(low) - 1
    cdef const uint8_t *start = <const uint8_t *> PyBytes_AS_STRING(low)
    cdef const uint8_t *end = <const uint8_t *> PyBytes_AS_STRING(high)
    return last >= 0 and PyBytes_GET_SIZE(high) == last + 1 and end[last] == start[last] + 1 and memcmp(start, end, last) == 0


cdef int _pattern(bytes part, bint is_suffix, const Range *narrow) except -1:
    """Return whether all members of a string range end with a text, or contain it."""
    cdef tuple n
    cdef bytes member, low
    if narrow.flags & POINT:
        member = <bytes> narrow.text
        return _ends_with(member, part) if is_suffix else _is_part(member, part)
    n = <tuple> narrow.text
    member = <bytes> n[2]
    if not (_ends_with(member, part) if is_suffix else _is_part(member, part)):
        return NO
    if _ends_with(<bytes> n[3], part):
        return YES
    if not is_suffix:
        if _is_part(<bytes> n[3], part):
            return YES
        for piece in <tuple> n[4]:
            if _is_part(<bytes> piece, part):
                return YES
    if narrow.flags & FINITE:
        return POSSIBLY
    # Any other range has all continuations of some prefix that the texts below allow.
    low = <bytes> n[0]
    if is_suffix:
        return NO
    if n[1] is None:  # all strings above a character follow, unless it is one of the last two
        return NO if low < b"\xf4" else POSSIBLY
    if _is_prefix(low, <bytes> n[1]):
        return YES if _is_part(low, part) else NO
    return POSSIBLY


cdef int _excludes(const Range *wide, const Range *narrow) except -1:
    """Return whether a range of strings has the value that another one excludes; NO: it may be contained."""
    cdef bytes text = <bytes> (<tuple> wide.text)[5]
    cdef tuple n
    if narrow.flags & POINT:
        return <bytes> narrow.text == text
    n = <tuple> narrow.text
    if text < <bytes> n[0] or (n[1] is not None and text >= <bytes> n[1]) or not _ends_with(text, <bytes> n[3]):
        return NO
    for piece in <tuple> n[4]:
        if not _is_part(text, <bytes> piece):
            return NO
    if narrow.flags & ONE_EXCLUDED:
        return text != <bytes> n[5]
    return POSSIBLY if narrow.flags & (EXCLUDED | FINITE) else YES


cdef int _excludes_number(const Range *wide, const Range *narrow) noexcept:
    """Return whether a range of numbers has the one that another range excludes."""
    cdef uint64_t key = wide.needed
    if key < narrow.low or key > narrow.high:
        return NO
    if (key == narrow.low and narrow.flags & INEXACT_LOW) or (key == narrow.high and narrow.flags & INEXACT_HIGH):
        return POSSIBLY
    if narrow.flags & ONE_EXCLUDED:
        return key != narrow.needed
    return POSSIBLY if narrow.flags & (EXCLUDED | FINITE) else YES


cdef inline int _without_excluded(const Range *wide, const Range *narrow) except -1:
    """Return whether a range contains another one that is between its ends."""
    cdef int found
    if not wide.flags & EXCLUDED:
        return YES
    if not wide.flags & ONE_EXCLUDED:
        return POSSIBLY
    found = _excludes_number(wide, narrow) if wide.kind == NUMBER else _excludes(wide, narrow)
    return YES if found == NO else NO if found == YES else POSSIBLY


cdef bint _extends(tuple wide, tuple narrow) except -1:
    """Return whether some members of a string range surely lie outside the interval of another."""
    cdef bytes low = <bytes> wide[0]
    if <bytes> narrow[0] < low and not _is_thin(<bytes> narrow[0], low):
        return True
    if wide[1] is None or (narrow[1] is not None and <bytes> narrow[1] <= <bytes> wide[1]):
        return False
    return not _is_thin(<bytes> wide[1], narrow[1])


cdef int _contains_strings(const Range *wide, const Range *narrow) except -1:
    cdef tuple w
    cdef bytes member
    cdef int answer, found
    if wide.flags & POINT:
        return narrow.flags & POINT and wide.low == narrow.low and _compared(
            <bytes> wide.text, <bytes> narrow.text) == 0
    if wide.needed & ~narrow.pairs:
        return NO
    w = <tuple> wide.text
    answer = _string_interval(wide, narrow)
    if answer == NO:
        if not narrow.flags & LOOSE:
            return NO
        member = <bytes> (<tuple> narrow.text)[2]
        if _compared(<bytes> w[0], member) > 0 or (w[1] is not None and _compared(member, <bytes> w[1]) >= 0):
            return NO
        if _extends(w, <tuple> narrow.text):
            return NO
        answer = POSSIBLY
    if PyBytes_GET_SIZE(<bytes> w[3]):
        found = _pattern(<bytes> w[3], True, narrow)
        if found != YES:
            answer = found
    for piece in <tuple> w[4]:
        if answer == NO:
            return NO
        found = _pattern(<bytes> piece, False, narrow)
        if found != YES:
            answer = found
    if answer == NO:
        return NO
    found = _without_excluded(wide, narrow)
    return answer if found == YES else found


cdef int _contains_finite(const Range *wide, const Range *narrow) noexcept:
    """Return whether a finite set contains a range."""
    if narrow.flags & (POINT | FINITE) or narrow.kind == BOOL:
        return NO if narrow.members & ~wide.members else POSSIBLY
    return POSSIBLY if narrow.kind == NUMBER and narrow.high - narrow.low < MAX_MEMBERS else NO


cdef int contains(const Range *wide, const Range *narrow) except -1:
    """Return whether one range contains another: NO, YES or POSSIBLY."""
    cdef int answer = YES
    if wide.kind == ANY:
        return YES
    if wide.kind == NOT_NULL:
        return narrow.flags & NOT_NULL_FLAG != 0
    if wide.flags & FINITE:
        return _contains_finite(wide, narrow)
    if wide.kind != narrow.kind:
        return NO
    if wide.kind == OUTCOMES:
        return narrow.low & ~wide.low == 0
    if wide.kind == STRING:
        return _contains_strings(wide, narrow)
    if wide.low > narrow.low or wide.high < narrow.high:
        return NO
    if wide.low == narrow.low and (wide.flags | narrow.flags) & INEXACT_LOW:
        return POSSIBLY
    if wide.high == narrow.high and (wide.flags | narrow.flags) & INEXACT_HIGH:
        return POSSIBLY
    return _without_excluded(wide, narrow)
