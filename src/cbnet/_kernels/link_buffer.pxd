"""Bytes to be written to one link, for other kernels."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t

cdef class LinkTraffic:
    cdef public int64_t received, sent, waiting, dropped, messages_received, messages_sent

cdef struct Chunk:              # of a queue; its bytes follow it in memory
    Chunk *next
    size_t start, used, room    # its frames are the bytes from `start` to `used`

cdef struct ChunkList:
    Chunk *first
    Chunk *last

cdef class LinkBuffer:
    cdef readonly LinkTraffic traffic
    cdef public size_t max_lossy, max_size
    cdef public bint drops
    cdef readonly bint is_paused
    cdef readonly size_t size           # bytes of queued frames
    cdef readonly size_t allocated      # bytes of the queue, as allocated
    cdef readonly size_t ready          # bytes to be written in this turn
    cdef size_t ready_room, expected
    cdef PyObject *ready_bytes          # a bytes object of `ready_room` bytes, or NULL
    cdef int64_t unreported             # frames that were dropped
    cdef ChunkList kept, queued
    cdef uint8_t *begin_frame(self, size_t most) except NULL
    cdef int end_frame(self, const uint8_t *end) except -1
    cdef size_t move(self, LinkBuffer to, size_t most) except? 0
    cdef int _grow(self, size_t more) except -1
    cdef Chunk *_room_in(self, ChunkList *chunks, size_t more) except NULL
    cdef int _drop(self) except -1
    cdef void _discard_first(self) noexcept
