"""The memtable: filters as Python objects, which can be added and removed one by one.

A filter is filed in one bucket, under the rarest of its requirements:

    equal     {name: {value: bucket}}    an attribute with this value
    tagged    {tag: bucket}              a tag
    named     {name: bucket}             an attribute, whatever its value
    always    bucket                     nothing

A bucket is a list of entries, each of which knows its index there, so that removing one moves only the
last. Values and constants are compared by Python, whose comparisons of ints, floats and strings are exact.
No other Python code runs here, so the GIL makes every call atomic.
"""

from cpython.dict cimport PyDict_GetItem
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE, PyObject, PyObject_RichCompareBool
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_Contains, PyUnicode_Tailmatch

from cbnet._kernels.target_set cimport TargetSet, add_target, has_target
from cbnet._kernels.test_codes cimport *

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef int[6] COMPARISONS = [Py_EQ, Py_NE, Py_LT, Py_LE, Py_GT, Py_GE]


cdef class MemtableEntry:
    """A filter and its target, in a bucket."""

    cdef readonly uint32_t target
    cdef readonly frozenset tests      # a frozenset of (name or tag, test, constant)
    cdef list bucket
    cdef Py_ssize_t place


cdef bint _is_number(object value) noexcept:
    return PyLong_CheckExact(value) or PyFloat_CheckExact(value)


cdef bint _holds(int test, object constant, object value) except -1:
    """Return whether a value of a message passes a test."""
    if test == EXISTS:
        return True
    if test == BOOL_EQ:
        return value is constant
    if test <= NUMBER_GE:
        return _is_number(value) and PyObject_RichCompareBool(value, constant, COMPARISONS[test - NUMBER_EQ])
    if not PyUnicode_CheckExact(value):
        return False
    if test <= STRING_GE:
        return PyObject_RichCompareBool(value, constant, COMPARISONS[test - STRING_EQ])
    if test == SUBSTRING:
        return PyUnicode_Contains(value, constant)
    return PyUnicode_Tailmatch(value, constant, 0, PY_SSIZE_T_MAX, -1 if test == PREFIX else 1)


cdef bint _passes(MemtableEntry entry, dict members, list tags) except -1:
    """Return whether a message passes all tests of a filter."""
    cdef PyObject *value
    cdef int test
    for name, code, constant in entry.tests:
        test = code
        if test == IS_TAG:
            if name not in tags:
                return False
            continue
        value = PyDict_GetItem(members, name)
        if value == NULL or not _holds(test, constant, <object> value):
            return False
    return True


cdef class MemtableIndex:
    """Filters with their targets, filed for matching."""

    def __init__(self):
        self.equal = {}
        self.tagged = {}
        self.named = {}
        self.always = []

    def add(self, uint32_t target, frozenset tests):
        """Add a filter, a set of (name or tag, test, constant); return its entry."""
        cdef MemtableEntry entry = MemtableEntry.__new__(MemtableEntry)
        entry.target = target
        entry.tests = tests
        entry.bucket = self._bucket(tests)
        entry.place = len(entry.bucket)
        entry.bucket.append(entry)
        self.longest = max(self.longest, len(entry.bucket))
        return entry

    cdef list _bucket(self, frozenset tests):
        """Return the bucket of a filter: the shortest for a value or tag, or else for a name."""
        cdef dict home = None
        cdef dict buckets
        cdef object rarest = None
        cdef Py_ssize_t least = 0
        cdef Py_ssize_t size
        cdef int test
        for name, code, constant in tests:
            test = code
            if test == IS_TAG:
                buckets, key = self.tagged, name
            elif test == BOOL_EQ or test == NUMBER_EQ or test == STRING_EQ:
                buckets, key = self.equal.setdefault(name, {}), constant
            else:
                continue
            size = len(buckets.get(key, ()))
            if home is None or size < least:
                home, rarest, least = buckets, key, size
        if home is None:
            for name, code, constant in tests:
                size = len(self.named.get(name, ()))
                if home is None or size < least:
                    home, rarest, least = self.named, name, size
        return self.always if home is None else home.setdefault(rarest, [])

    def remove(self, MemtableEntry entry):
        """Remove an entry."""
        cdef MemtableEntry last = entry.bucket.pop()
        if last is not entry:
            entry.bucket[entry.place] = last
            last.place = entry.place

    cdef int add_targets(self, dict members, list tags, TargetSet *targets) except -1:
        """Add the targets of a plain and valid message to a set of sufficient size."""
        cdef PyObject *bucket
        _take(self.always, members, tags, targets)
        for name, value in members.items():
            bucket = PyDict_GetItem(self.named, name)
            if bucket != NULL:
                _take(<list> bucket, members, tags, targets)
            bucket = PyDict_GetItem(self.equal, name)
            if bucket != NULL:
                bucket = PyDict_GetItem(<dict> bucket, value)
                if bucket != NULL:
                    _take(<list> bucket, members, tags, targets)
        for tag in tags:
            bucket = PyDict_GetItem(self.tagged, tag)
            if bucket != NULL:
                _take(<list> bucket, members, tags, targets)
        return 0


cdef int _take(list bucket, dict members, list tags, TargetSet *targets) except -1:
    cdef MemtableEntry entry
    for entry in bucket:
        if not has_target(targets, entry.target) and _passes(entry, members, tags):
            add_target(targets, entry.target)
    return 0
