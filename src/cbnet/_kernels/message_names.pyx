"""A test whether JSON text repeats a name in an object."""

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject

cdef enum:
    MAX_DEPTH = 200


cdef Py_ssize_t _count(object value, int depth) except -1:
    """Return the number of names in a value and in all that it holds."""
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t place = 0
    cdef PyObject *key
    cdef PyObject *member
    if depth > MAX_DEPTH:
        raise RecursionError
    if type(value) is dict:
        count = len(<dict> value)
        while PyDict_Next(value, &place, &key, &member):
            count += _count(<object> member, depth + 1)
    elif type(value) is list:
        for item in <list> value:
            count += _count(item, depth + 1)
    return count


def are_names_distinct(bytes text not None, dict members not None):
    """Return whether no object in a JSON text has a name twice; False may be wrong.

    members: the decoded text. Each name of the text ends with a quote, blanks and a colon, which may also occur
    inside strings. So if there are no more of these than distinct names, no name is repeated.
    """
    cdef const unsigned char *chars = text
    cdef Py_ssize_t place, before
    cdef Py_ssize_t ends = 0
    for place in range(1, len(text)):
        if chars[place] == c":":
            before = place - 1
            while before > 0 and (chars[before] == c" " or chars[before] == c"\t" or chars[before] == c"\r"):
                before -= 1
            ends += chars[before] == c'"'
    return ends == _count(members, 0)
