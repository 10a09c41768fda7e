"""Memory without an object, zeroed or resized; a MemoryError if there is none."""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawRealloc

cdef inline void *zeroed(size_t count, size_t size) except NULL:
    """Return memory for items of a size, all zero."""
    cdef void *block = PyMem_RawCalloc(count, size)
    if block == NULL:
        raise MemoryError
    return block

cdef inline void *resized(void *block, size_t size) except NULL:
    """Return a block with another size; block: NULL for a new one."""
    block = PyMem_RawRealloc(block, size)
    if block == NULL:
        raise MemoryError
    return block
