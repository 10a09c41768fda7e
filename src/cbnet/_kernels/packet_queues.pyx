"""Packets for one neighbour: credit, and a queue for those without credit, for each hop class.

    packet, hops h ──► credit of class h? ──yes──► the buffer of the link
                                │ no, or the neighbour does not read
                                ▼
                        queue of class h ──credit──► the buffer of the link

The class of a packet is the number of its hops, as sent. Both sides count the bytes of packets of each class since the
session began. A side sends as long as its count is below the limit that the other one has granted, at first `window`. A
packet of more than 14 hops has no class: it is lossy, and goes to the buffer.

The classes are there after `open`: only routers get packets.

A queue is *long* from the time it exceeds `mark` until it is below half of it. Who feeds a long queue must be stopped:
`take_fed` names the classes of such queues, and `take_relieved` those that are long no more.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from cbnet._kernels.frame_message cimport read_number, read_text

cdef enum:
    HEAD = 6  # bytes of a frame before its second member: length, array, number


cdef list _numbers(uint32_t bits):
    return [number for number in range(CLASSES) if bits >> number & 1]


cdef class PacketQueues:
    """The packets for one neighbour, and the credit that it has here."""

    def __init__(self, LinkBuffer buffer not None, size_t window, size_t mark, size_t max_queued):
        """Initialise with the buffer of the link.

        window: bytes of each class that may be on the way; max_queued: bytes of a queue above which its oldest packets
        are dropped, where those who feed it cannot be stopped.
        """
        self.buffer, self.window, self.mark, self.max_queued = buffer, window, mark, max_queued
        self.queues = []

    def __dealloc__(self):
        PyMem_RawFree(self.classes)

    def open(self):
        """Make room for packets: the peer is a router."""
        cdef int i
        if self.classes != NULL:
            return
        self.classes = <HopClass *> PyMem_RawCalloc(CLASSES, sizeof(HopClass))
        if self.classes == NULL:
            raise MemoryError
        self.queues = [None] * CLASSES
        for i in range(CLASSES):
            self.classes[i].limit = self.classes[i].granted = self.window

    # --- packets to the neighbour

    cdef LinkBuffer target(self, uint64_t hops):
        """Return the buffer where a packet goes; call `added` after that."""
        cdef LinkBuffer queue
        if hops >= CLASSES or self.classes == NULL:
            return self.buffer
        queue = <LinkBuffer> self.queues[hops]
        if queue is None:
            if not self.buffer.is_paused and self.classes[hops].sent < self.classes[hops].limit:
                return self.buffer
            queue = LinkBuffer(self.max_queued, self.max_queued, self.buffer.traffic)
            queue.pause()
            self.queues[hops] = queue
        return queue

    cdef int added(self, uint64_t hops, size_t length) except -1:
        """Count a packet; return 1 if its queue is long."""
        cdef LinkBuffer queue
        cdef HopClass *of
        if hops >= CLASSES or self.classes == NULL:
            return 0
        of = &self.classes[hops]
        queue = <LinkBuffer> self.queues[hops]
        if queue is None:
            of.sent += length
            return 0
        if queue.size > self.mark:
            of.is_long = True
        if of.is_long:
            self.fed |= <uint32_t> 1 << hops
        return of.is_long

    def add_body(self, uint64_t hops, bytes body not None):
        """Add a packet, given as a frame without its length."""
        self.target(hops).add_body(body)
        self.added(hops, PyBytes_GET_SIZE(body) + 4)

    def add_later(self, bytes body not None):
        """Add a frame, given without its length, that follows all packets which were added before.

        It is left out if another one still waits.
        """
        cdef int i
        if not self.size:
            self.buffer.add_body(body)
        elif self.later is None:
            self.later = body
            for i in range(CLASSES):
                if self.queues[i] is not None:
                    self.classes[i].awaited = self.classes[i].sent + (<LinkBuffer> self.queues[i]).size

    def grant(self, uint32_t hops, uint64_t limit):
        """Handle credit of the neighbour: it accepts packets of a class up to a limit."""
        if hops < CLASSES and self.classes != NULL and limit > self.classes[hops].limit:
            self.classes[hops].limit = limit

    def release(self):
        """Move the queued packets that have credit to the buffer of the link, unless the neighbour does not read."""
        cdef uint32_t i
        cdef HopClass *of
        cdef LinkBuffer queue
        if self.buffer.is_paused or self.classes == NULL:
            return
        for i in range(CLASSES):
            queue = <LinkBuffer> self.queues[i]
            if queue is None:
                continue
            of = &self.classes[i]
            if of.sent < of.limit:
                of.sent += queue.move(self.buffer, of.limit - of.sent)
            if of.is_long and queue.size < self.mark / 2:
                of.is_long = False
                self.relieved |= <uint32_t> 1 << i
            if not queue.size:
                self.queues[i] = None
        if self.later is not None:
            self._add_later()

    cdef int _add_later(self) except -1:
        """Add the frame that waits for packets, if these were added."""
        cdef int i
        for i in range(CLASSES):
            if self.queues[i] is not None and self.classes[i].sent < self.classes[i].awaited:  # None: empty
                return 0
        self.buffer.add_body(self.later)
        self.later = None
        return 0

    # --- packets of the neighbour

    cdef void handled(self, uint64_t hops, size_t length) noexcept:
        """Count a packet that was received."""
        if hops < CLASSES and self.classes != NULL:
            self.classes[hops].handled += length

    def count_received(self, data, Py_ssize_t start, Py_ssize_t end):
        """Count a packet that was received, given as a frame, with its length, in some bytes."""
        cdef Py_buffer view
        cdef const uint8_t *at
        cdef const uint8_t *stop
        cdef const char *source
        cdef uint32_t length
        cdef uint64_t characters = 0, number = 0
        cdef int i
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        stop = <const uint8_t *> view.buf + end
        at = read_text(<const uint8_t *> view.buf + start + HEAD, stop, &source, &length, &characters)
        for i in range(3):  # incarnation, number, hops
            if at != NULL:
                at = read_number(at, stop, &number)
        PyBuffer_Release(&view)
        if at != NULL:
            self.handled(number, end - start)

    def withhold(self, uint32_t hops, bint is_withheld):
        """Grant no more credit for a class, or grant it again."""
        if hops < CLASSES and self.classes != NULL:
            self.classes[hops].is_withheld = is_withheld

    def take_grants(self):
        """Return the classes that get more credit now, each with its limit."""
        cdef int i
        cdef HopClass *of
        grants = []
        if self.classes == NULL:
            return grants
        for i in range(1, CLASSES):
            of = &self.classes[i]
            if not of.is_withheld and of.handled + self.window >= of.granted + self.window / 4:
                of.granted = of.handled + self.window
                grants.append((i, of.granted))
        return grants

    # --- state

    def take_fed(self):
        """Return the classes of long queues that got packets since the last call."""
        cdef uint32_t fed = self.fed
        self.fed = 0
        return _numbers(fed) if fed else []

    def take_relieved(self):
        """Return the classes of queues that are long no more since the last call."""
        cdef uint32_t relieved = self.relieved
        self.relieved = 0
        return _numbers(relieved) if relieved else []

    def take_dropped(self):
        """Return the number of packets dropped since the last call."""
        cdef LinkBuffer queue
        dropped = 0
        for queue in self.queues:
            if queue is not None:
                dropped += queue.take_dropped()
        return dropped

    @property
    def size(self):
        """The bytes of all queues."""
        cdef LinkBuffer queue
        cdef size_t size = 0
        for queue in self.queues:
            if queue is not None:
                size += queue.size
        return size
