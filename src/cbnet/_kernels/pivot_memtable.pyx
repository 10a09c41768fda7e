"""The memtable: filters as Python objects, which can be added and removed one by one.

A filter is filed in one bucket, under the rarest of its requirements:

    equal     {name: {value: bucket}}    an attribute with this value, perhaps null
    tagged    {tag: bucket}              a tag
    named     {name: bucket}             an attribute, whatever its value
    always    bucket                     nothing

A bucket is a list of entries, each of which knows its index there, so that removing one moves only the
last. Values and constants are compared by Python, whose comparisons of ints, floats and strings are exact.
No other Python code runs here, so the GIL makes every call atomic. Filters with conditions, and messages that are
nested where a filter looks, are left to the caller, who asks for the candidates.
"""

from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE, PyObject, PyObject_RichCompareBool
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_Contains, PyUnicode_Tailmatch

from cbnet._kernels.condition_eval import mentions
from cbnet._kernels.message_encoding cimport Attribute, is_scalar, read_value
from cbnet._kernels.target_set cimport TargetSet, add_target, has_target
from cbnet._kernels.test_codes cimport *

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef int[6] COMPARISONS = [Py_EQ, Py_NE, Py_LT, Py_LE, Py_GT, Py_GE]


cdef class MemtableEntry:
    """A filter and its target, in a bucket."""

    cdef readonly uint32_t target
    cdef readonly frozenset tests      # a frozenset of (name or tag, test, constant)
    cdef readonly bint is_conditional
    cdef public object filter          # the same as a value of the language, set by the caller
    cdef list checks                   # the tests; `in` with the values of each type, a dict of frozensets
    cdef set names                     # that it uses
    cdef list bucket
    cdef Py_ssize_t place


cdef bint _is_number(object value) noexcept:
    return PyLong_CheckExact(value) or PyFloat_CheckExact(value)


cdef int _type(object value) noexcept:
    """Return the type of a valid value, as `language.values` numbers it."""
    if value is None:
        return 3
    if PyUnicode_CheckExact(value):
        return 2
    return _is_number(value)


cdef bint _holds(int test, object constant, object value) except -1:
    """Return whether a value of a message passes a test."""
    if test == EXISTS:
        return True
    if test == BOOL_EQ:
        return value is constant
    if test <= NUMBER_GE:
        return _is_number(value) and PyObject_RichCompareBool(value, constant, COMPARISONS[test - NUMBER_EQ])
    if test > SUBSTRING:
        if test == IN:
            return is_scalar(value) and value in (<dict> constant).get(_type(value), ())
        return (value is None) == (test == NULL_EQ)
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
    for name, code, constant in entry.checks:
        test = code
        if test == IS_TAG:
            if name not in tags:
                return False
            continue
        value = PyDict_GetItem(members, name)
        if value == NULL or not _holds(test, constant, <object> value):
            return False
    return True


cdef dict _by_type(tuple members):
    """Return the values of each type among pairs of type and value."""
    kinds = {int(kind) for kind, _ in members}
    return {kind: frozenset([value for own, value in members if own == kind]) for kind in kinds}


cdef str _root(str name):
    """Return the part of a name before the first dot."""
    return name.partition(".")[0]


cdef set _names(frozenset tests):
    """Return the names that tests and conditions use."""
    cdef set names = {name for name, code, _ in tests if code != IS_TAG and name != "#"}
    for _, code, constant in tests:
        if code == CONDITION:
            names.update([text for text, is_tag in mentions(constant) if not is_tag])
    return names


cdef int _decrement(dict counts, str key) except -1:
    counts[key] -= 1
    if counts[key] == 0:
        del counts[key]
    return 0


cdef class MemtableIndex:
    """Filters with their targets, filed for matching."""

    def __init__(self):
        self.equal = {}
        self.tagged = {}
        self.named = {}
        self.always = []
        self.names = {}
        self.roots = {}

    def add(self, uint32_t target, frozenset tests):
        """Add a filter, a set of (name or tag, test, constant); return its entry."""
        cdef MemtableEntry entry = MemtableEntry.__new__(MemtableEntry)
        entry.target = target
        entry.tests = tests
        entry.checks = [(name, code, _by_type(constant) if code == IN else constant) for name, code, constant in tests]
        entry.names = _names(tests)
        entry.is_conditional = any([code == CONDITION for _, code, _ in tests])
        self.filters += 1
        self.conditional += entry.is_conditional
        for name in entry.names:
            self.names[name] = self.names.get(name, 0) + 1
            self.roots[_root(name)] = self.roots.get(_root(name), 0) + 1
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
            elif test == BOOL_EQ or test == NUMBER_EQ or test == STRING_EQ or test == NULL_EQ:
                buckets, key = self.equal.setdefault(name, {}), constant
            else:
                continue
            size = len(buckets.get(key, ()))
            if home is None or size < least:
                home, rarest, least = buckets, key, size
        if home is None:
            for name, code, constant in tests:
                if name == "#":
                    continue
                size = len(self.named.get(name, ()))
                if home is None or size < least:
                    home, rarest, least = self.named, name, size
        return self.always if home is None else home.setdefault(rarest, [])

    def remove(self, MemtableEntry entry):
        """Remove an entry."""
        cdef MemtableEntry last = entry.bucket.pop()
        self.filters -= 1
        self.conditional -= entry.is_conditional
        for name in entry.names:
            _decrement(self.names, name)
            _decrement(self.roots, _root(name))
        if last is not entry:
            entry.bucket[entry.place] = last
            last.place = entry.place

    def uses(self, str name):
        """Return whether a filter uses an attribute."""
        return name in self.names

    def uses_object(self, str path):
        """Return whether a filter uses an attribute of an object at a path."""
        if _root(path) not in self.roots:
            return False
        path += "."
        return any([(<str> name).startswith(path) for name in self.names])

    def candidates(self, dict leaves, tags):
        """Return the filters that a message may match: its leaves and tags, see `Batch`."""
        cdef list found = list(self.always)
        for name, values in leaves.items():
            found += self.named.get(name, ())
            buckets = self.equal.get(name)
            if buckets:
                for value in {leaf[0] for leaf in values}:
                    found += buckets.get(value, ())
        for tag in tags:
            found += self.tagged.get(tag, ())
        return found

    cdef bint add_targets(self, dict members, list tags, TargetSet *targets) except -1:
        """Add the targets of a message to a set of sufficient size.

        Return False if a value that a filter uses is not plain and valid, or is nested; some targets may be wrong then.
        """
        cdef PyObject *name
        cdef PyObject *value
        cdef PyObject *bucket
        cdef Py_ssize_t at = 0
        cdef Attribute attribute
        _take(self.always, members, tags, targets)
        while PyDict_Next(members, &at, &name, &value):
            if not PyUnicode_CheckExact(<object> name):
                return False
            if PyDict_GetItem(self.names, <object> name) == NULL:
                if not is_scalar(<object> value) and _root(<str> name) in self.roots:
                    return False
                continue
            if not read_value(<object> value, &attribute):
                return False
            bucket = PyDict_GetItem(self.named, <object> name)
            if bucket != NULL:
                _take(<list> bucket, members, tags, targets)
            bucket = PyDict_GetItem(self.equal, <object> name)
            if bucket != NULL:
                bucket = PyDict_GetItem(<dict> bucket, <object> value)
                if bucket != NULL:
                    _take(<list> bucket, members, tags, targets)
        for tag in tags:
            bucket = PyDict_GetItem(self.tagged, tag)
            if bucket != NULL:
                _take(<list> bucket, members, tags, targets)
        return True


cdef int _take(list bucket, dict members, list tags, TargetSet *targets) except -1:
    cdef MemtableEntry entry
    for entry in bucket:
        if not entry.is_conditional and not has_target(targets, entry.target) and _passes(entry, members, tags):
            add_target(targets, entry.target)
    return 0


def have_conditions(tuple indexes):
    """Return whether a filter in some memtable has a condition."""
    cdef MemtableIndex index
    for index in indexes:
        if index.conditional:
            return True
    return False
