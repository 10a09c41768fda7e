"""The sending side of one link, for other kernels."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef class LinkTraffic:
    cdef public int64_t received, sent, waiting, dropped, messages_received, messages_sent

cdef struct Chunk:              # of a queue; its bytes follow it in memory
    Chunk *next
    size_t start, used, room    # its frames are the bytes from `start` to `used`

cdef struct ChunkList:
    Chunk *first
    Chunk *last

cdef class FrameBuffer:
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
    cdef size_t move(self, FrameBuffer to, size_t most) except? 0
    cdef int _grow(self, size_t more) except -1
    cdef Chunk *_room_in(self, ChunkList *chunks, size_t more) except NULL
    cdef int _drop(self) except -1
    cdef void _discard_first(self) noexcept

cdef enum:
    CLASSES = 15                # the classes below this have credit; class 0 is that of clients, and has no packets

cdef struct HopClass:
    uint64_t sent, limit        # bytes of packets that were sent in this session, and that may be sent
    uint64_t handled, granted   # bytes of packets that were received and handled, and that the neighbour may send
    uint64_t awaited            # `sent` after which `later` may follow
    bint is_withheld            # whether the neighbour gets no more credit for now
    bint is_long                # whether the queue was above the mark, and was not below half of it since

cdef class LinkOutput(FrameBuffer):
    cdef readonly size_t window, mark, max_packets
    cdef list queues                    # a FrameBuffer by class, or None
    cdef HopClass *classes              # NULL before `open_queues`
    cdef uint32_t fed, relieved         # bits of classes
    cdef bytes later                    # a frame that follows the packets which are queued now, or None
    cdef FrameBuffer target(self, uint64_t hops)
    cdef int added(self, uint64_t hops, size_t length) except -1
    cdef void handled(self, uint64_t hops, size_t length) noexcept
    cdef int _add_later(self) except -1
