"""Checked pointers to arrays, new arrays, and binary search."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

ctypedef fused Key:
    int32_t
    uint32_t
    uint64_t

cdef const void *pointer(dict arrays, str name, Py_ssize_t size, Py_ssize_t least) except? NULL
cdef object empty(str code, Py_ssize_t count)
cdef object owned(uint32_t *targets, int64_t count)

cdef inline int compare_words(const void *left, const void *right) noexcept nogil:
    """Compare two words of 64 bits, for `qsort`."""
    cdef uint64_t a = (<const uint64_t *> left)[0]
    cdef uint64_t b = (<const uint64_t *> right)[0]
    return (a > b) - (a < b)

cdef inline int64_t first_not_below(const Key *keys, int64_t first, int64_t end, Key key) noexcept nogil:
    """Return the index of the first of ascending keys that is not below another, or the end."""
    cdef int64_t half
    while first < end:
        half = (first + end) >> 1
        if keys[half] < key:
            first = half + 1
        else:
            end = half
    return first
