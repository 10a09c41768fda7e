"""Credit and queues of the packets for one neighbour, for other kernels."""

from libc.stdint cimport uint32_t, uint64_t

from cbnet._kernels.link_buffer cimport LinkBuffer

cdef enum:
    CLASSES = 15                # the classes below this have credit; class 0 is that of clients, and has no packets

cdef struct HopClass:
    uint64_t sent, limit        # bytes of packets that were sent in this session, and that may be sent
    uint64_t handled, granted   # bytes of packets that were received and handled, and that the neighbour may send
    uint64_t awaited            # `sent` after which `later` may follow
    bint is_withheld            # whether the neighbour gets no more credit for now
    bint is_long                # whether the queue was above the mark, and was not below half of it since

cdef class PacketQueues:
    cdef readonly LinkBuffer buffer     # of the link
    cdef readonly size_t window, mark, max_queued
    cdef list queues                    # a LinkBuffer by class, or None
    cdef HopClass *classes              # NULL before `open`
    cdef uint32_t fed, relieved         # bits of classes
    cdef bytes later                    # a frame that follows the packets which are queued now, or None
    cdef LinkBuffer target(self, uint64_t hops)
    cdef int added(self, uint64_t hops, size_t length) except -1
    cdef void handled(self, uint64_t hops, size_t length) noexcept
    cdef int _add_later(self) except -1
