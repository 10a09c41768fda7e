"""The tests of an uncompiled filter, in flat memory. See `memtable_test.pxd`."""

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy

from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize, has_pattern, hash_bytes
from cbnet._kernels.dict_encoding cimport read_value
from cbnet._kernels.frame_message cimport FrameMessage, ReadAttribute, first_slot
from cbnet._kernels.memory cimport resized
from cbnet._kernels.message_encoding cimport BOOL, NULL_VALUE, NUMBER, STRING, TAG, Attribute
from cbnet._kernels.test_codes cimport *

cdef uint64_t value_hash(const Attribute *value) noexcept nogil:
    """Return a hash of a value; equal numbers have one, whether int or float."""
    if value.kind == STRING:
        return hash_bytes(value.text, value.length, STRING)
    if value.kind == NUMBER:
        return hash_bytes(<const char *> &value.high, sizeof(double), 256 + value.low)
    return 1 if value.kind == NULL_VALUE else 2 + (value.high != 0)


cdef inline bint _is_same(const Attribute *one, const Attribute *other) noexcept nogil:
    """Return whether two values have one type and are equal."""
    if one.kind != other.kind:
        return False
    if one.kind == STRING:
        return one.length == other.length and memcmp(one.text, other.text, one.length) == 0
    if one.kind == NULL_VALUE:
        return True
    return one.high == other.high and (one.kind == BOOL or one.low == other.low)


# --- creation

cdef inline bint _is_kept(str name, int code) noexcept:
    """Return whether a test is made here: not a condition, and not of "#", which every message has."""
    return code == IS_TAG or name != "#"


cdef MemtableTest *create_tests(frozenset tests, uint32_t *count) except NULL:
    """Return the tests of a set of (name or tag, test, constant), without conditions; the caller frees them."""
    cdef size_t test_count = 0
    cdef size_t constant_count = 0
    cdef size_t bytes = 0
    cdef MemtableTest *created
    for name, code, constant in tests:
        if _is_kept(name, code):
            test_count += 1
            constant_count += len(<tuple> constant) if <int> code == IN else 1
            bytes += _text_size(name) + _constant_size(code, constant)
    created = <MemtableTest *> resized(NULL, test_count * sizeof(MemtableTest) + constant_count * sizeof(Constant) + bytes + 1)
    count[0] = <uint32_t> test_count
    try:
        _write_tests(tests, created, <Constant *> (created + test_count), constant_count)
    except:
        PyMem_RawFree(created)
        raise
    return created


cdef void free_tests(MemtableTest *tests) noexcept nogil:
    PyMem_RawFree(tests)


cdef size_t _text_size(str text) except? 0:
    cdef Py_ssize_t length
    PyUnicode_AsUTF8AndSize(text, &length)
    return <size_t> length


cdef size_t _constant_size(int code, object constant) except? 0:
    """Return the bytes of the strings among constants."""
    cdef size_t size = 0
    if code == IN:
        for _, member in <tuple> constant:
            if type(member) is str:
                size += _text_size(member)
    elif type(constant) is str:
        size = _text_size(constant)
    return size


cdef int _write_tests(frozenset tests, MemtableTest *test, Constant *constant, size_t constant_count) except -1:
    cdef char *end = <char *> (constant + constant_count)
    cdef Py_ssize_t length
    cdef const char *text
    for name, code, value in tests:
        if not _is_kept(name, code):
            continue
        text = PyUnicode_AsUTF8AndSize(name, &length)
        memcpy(end, text, length)
        test.name = end
        end += length
        test.name_length = <uint32_t> length
        test.code = <uint8_t> code
        test.hash = hash_bytes(text, length, test.code == IS_TAG)
        test.constants = constant
        if test.code == IN:
            for _, member in <tuple> value:
                end = _write_constant(constant, member, end)
                constant += 1
            qsort(<void *> test.constants, constant - test.constants, sizeof(Constant), _compare_hashes)
        else:
            end = _write_constant(constant, value, end)
            constant += 1
        test.constant_count = <uint32_t> (constant - test.constants)
        test += 1
    return 0


cdef char *_write_constant(Constant *constant, object value, char *end) except NULL:
    """Write a constant, and its text at `end`; return the end of the texts."""
    if not read_value(value, &constant.value):
        raise ValueError(f"{value!r} is not a constant")
    if constant.value.kind == STRING:
        memcpy(end, constant.value.text, constant.value.length)
        constant.value.text = end
        end += constant.value.length
    constant.hash = value_hash(&constant.value)
    return end


cdef int _compare_hashes(const void *one, const void *other) noexcept nogil:
    cdef uint64_t a = (<const Constant *> one).hash
    cdef uint64_t b = (<const Constant *> other).hash
    return (a > b) - (a < b)


# --- matching

cdef inline bint _is_ordered(int order, int code) noexcept nogil:
    """Return whether an order, below 0, 0 or above, is that of a test from NUMBER_EQ on."""
    if code == NUMBER_EQ:
        return order == 0
    if code == NUMBER_NE:
        return order != 0
    if code == NUMBER_LT:
        return order < 0
    if code == NUMBER_LE:
        return order <= 0
    if code == NUMBER_GT:
        return order > 0
    return order >= 0


cdef inline int _text_order(const Attribute *one, const Attribute *other) noexcept nogil:
    cdef int order = memcmp(one.text, other.text, min(one.length, other.length))
    return order if order else (one.length > other.length) - (one.length < other.length)


cdef bint _has_member(const MemtableTest *test, const Attribute *value) noexcept nogil:
    cdef uint64_t hash = value_hash(value)
    cdef uint32_t first = 0
    cdef uint32_t count = test.constant_count
    cdef uint32_t half
    while count > 0:
        half = count >> 1
        if test.constants[first + half].hash < hash:
            first += half + 1
            count -= half + 1
        else:
            count = half
    while first < test.constant_count and test.constants[first].hash == hash:
        if _is_same(value, &test.constants[first].value):
            return True
        first += 1
    return False


cdef bint _holds(const MemtableTest *test, const Attribute *value) noexcept nogil:
    """Return whether a value passes a test."""
    cdef const Attribute *constant = &test.constants.value
    cdef int code = test.code
    if code == EXISTS:
        return True
    if code == BOOL_EQ:
        return value.kind == BOOL and value.high == constant.high
    if code <= NUMBER_GE:
        if value.kind != NUMBER:
            return False
        if value.high != constant.high:
            return _is_ordered(1 if value.high > constant.high else -1, code)
        return _is_ordered(<int> value.low - constant.low, code)
    if code > SUBSTRING:
        if code == IN:
            return _has_member(test, value)
        return (value.kind == NULL_VALUE) == (code == NULL_EQ)
    if value.kind != STRING:
        return False
    if code <= STRING_GE:
        return _is_ordered(_text_order(value, constant), code - STRING_EQ + NUMBER_EQ)
    return has_pattern(code - PREFIX, value.text, value.length, constant.text, constant.length)


cdef inline bint _is_name(const MemtableTest *test, const ReadAttribute *attribute) noexcept nogil:
    return (
        attribute.hash == test.hash and attribute.name_length == test.name_length
        and (attribute.value.kind == TAG) == (test.code == IS_TAG)
        and memcmp(attribute.name, test.name, test.name_length) == 0
    )


cdef inline const ReadAttribute *_find(const MemtableTest *test, const FrameMessage *message) noexcept nogil:
    """Return the attribute or tag of a test, or NULL."""
    cdef uint32_t i, slot
    if message.slot_mask == 0:
        for i in range(message.count):
            if _is_name(test, message.attributes + i):
                return message.attributes + i
        return NULL
    slot = first_slot(message, test.hash)
    while message.slots[slot]:
        if _is_name(test, message.attributes + message.slots[slot] - 1):
            return message.attributes + message.slots[slot] - 1
        slot = (slot + 1) & message.slot_mask
    return NULL


cdef bint passes_test(const MemtableTest *test, const FrameMessage *message) noexcept nogil:
    """Return whether a message has the tag, or an attribute that passes the test."""
    cdef const ReadAttribute *attribute = _find(test, message)
    return attribute != NULL and (test.code == IS_TAG or _holds(test, &attribute.value))
