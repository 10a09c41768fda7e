"""Pointers to the arrays of a table, and arrays from C memory."""

from cpython.mem cimport PyMem_RawFree
from libc.string cimport memcpy

import numpy


cdef const void *pointer(dict arrays, str name, Py_ssize_t size, Py_ssize_t least) except? NULL:
    """Return a pointer to an array that has at least `least` elements of that size."""
    array = arrays[name]
    if array.dtype.itemsize != size or array.ndim != 1 or len(array) < least or not array.flags.c_contiguous:
        raise ValueError(f"the section {name} does not fit the others")
    return <const void *> <size_t> array.ctypes.data


cdef object empty(str code, Py_ssize_t count):
    """Return an uninitialised array."""
    return numpy.empty(count, code)


cdef object owned(uint32_t *targets, int64_t count):
    """Copy targets to a new array and free them; the copy runs without the GIL."""
    array = empty("I", count)
    cdef uint32_t[::1] out = array
    if count:
        with nogil:
            memcpy(&out[0], targets, count * sizeof(uint32_t))
    PyMem_RawFree(targets)
    return array
