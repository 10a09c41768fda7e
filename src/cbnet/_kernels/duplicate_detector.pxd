"""Detection of duplicate packets, for other kernels."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef enum:
    WINDOW_BITS = 8192
    WINDOW_WORDS = 128

cdef struct Window:             # of one source, incarnation and tree; the name of the source follows it in memory
    uint64_t[WINDOW_WORDS] seen
    int64_t highest
    uint64_t hash, incarnation
    uint32_t tree, length       # length: of the name, in bytes
    Window *next                # in its bucket
    Window *newer               # in the order of use
    Window *older

cdef class DuplicateDetector:
    cdef Window **buckets
    cdef Window *newest
    cdef Window *oldest
    cdef uint32_t mask, count, max_sources
    cdef bint is_new_packet(self, const char *source, uint32_t length, uint64_t incarnation, uint32_t tree, int64_t number) except -1
    cdef Window *_find(self, const char *source, uint32_t length, uint64_t hash, uint64_t incarnation, uint32_t tree) noexcept
    cdef int _add(self, const char *source, uint32_t length, uint64_t hash, uint64_t incarnation, uint32_t tree, int64_t number) except -1
    cdef int _evict(self) except -1
    cdef int _rehash(self) except -1
    cdef void _use(self, Window *window) noexcept
    cdef void _leave_order(self, Window *window) noexcept
