"""Memory without an object, zeroed or resized; a MemoryError if there is none."""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawRealloc
from libc.stdint cimport uint32_t

from cbnet._kernels.intrinsics cimport prefetch  # defines CBNET_COLD

cdef extern from *:
    """
    /* Double a queue; return 0 if out of memory. Kept out of its callers, which would have to save more registers. */
    static CBNET_COLD int cbnet_enlarge(void **items, uint32_t *room, size_t size) {
        void *larger = PyMem_RawRealloc(*items, (2 * (size_t) *room + 32) * size);
        if (larger == NULL) return 0;
        *items = larger;
        *room = 2 * *room + 32;
        return 1;
    }
    """
    bint enlarge "cbnet_enlarge" (void **items, uint32_t *room, size_t size) noexcept nogil

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
