"""Checked pointers to arrays, and new arrays."""

from libc.stdint cimport int64_t, uint32_t

cdef const void *pointer(dict arrays, str name, Py_ssize_t size, Py_ssize_t least) except? NULL
cdef object empty(str code, Py_ssize_t count)
cdef object owned(uint32_t *targets, int64_t count)
