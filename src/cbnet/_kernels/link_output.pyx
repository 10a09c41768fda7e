"""The sending side of one link: frames to be written, packets that wait for credit, and its traffic.

    ready      frames that are written at the end of this turn of the event loop
    queued     frames since the peer stopped reading; in chunks, so that memory is given back as they are dropped
    kept       lossless frames that stood before dropped ones

Frames are queued in order. When the queue exceeds its byte limit, the oldest lossy frames are dropped, so the newest
remain. Other frames are never dropped: if they exceed their own limit, the link must be closed.

Packets for a neighbour have a queue for each hop class:

    packet, hops h ──► credit of class h? ──yes──► ready, or queued
                                │ no, or the neighbour does not read
                                ▼
                        queue of class h ──credit──► ready

The class of a packet is the number of its hops, as sent. Both sides count the bytes of packets of each class since the
session began. A side sends as long as its count is below the limit that the other one has granted, at first `window`. A
packet of more than 14 hops has no class: it is lossy, and needs no credit.

A queue is *long* from the time it exceeds `mark` until it is below half of it. Who feeds a long queue must be stopped:
`take_fed` names the classes of such queues, and `take_relieved` those that are long no more.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from cbnet._kernels.frame_codes cimport DELIVER, NO_ITEM, PACKET, TRACE_REPORT
from cbnet._kernels.frame_message cimport read_number, read_text
from cbnet._kernels.frame_writer cimport frame_length
from cbnet._kernels.memory cimport resized, zeroed

cdef extern from "Python.h":
    PyObject *new_bytes "PyBytes_FromStringAndSize" (const char *data, Py_ssize_t size) except NULL
    int resize_bytes "_PyBytes_Resize" (PyObject **data, Py_ssize_t size) except -1

cdef enum:
    CHUNK = 1 << 16
    MIN_READY = 1 << 10
    MAX_EXPECTED = 1 << 17
    HEAD = 6  # bytes of a frame before its second member: length, array, number


cdef class LinkTraffic:
    """Bytes and messages that passed over a link, as counted by its transport."""

    def __init__(
        self, received=0, sent=0, waiting=0, dropped=0, messages_received=0, messages_sent=0
    ):
        self.received = received    # bytes
        self.sent = sent            # bytes
        self.waiting = waiting      # bytes queued for a peer that does not read
        self.dropped = dropped      # messages dropped because the peer reads too slowly
        self.messages_received = messages_received
        self.messages_sent = messages_sent

    def _counts(self):
        return self.received, self.sent, self.waiting, self.dropped, self.messages_received, self.messages_sent

    def __eq__(self, other):
        return isinstance(other, LinkTraffic) and self._counts() == other._counts()

    __hash__ = None

    def __repr__(self):
        return "LinkTraffic{}".format(self._counts())


cdef inline uint8_t *_data(Chunk *chunk) noexcept nogil:
    return <uint8_t *> (chunk + 1)


cdef inline bint _is_lossy(const uint8_t *frame) noexcept nogil:
    """Return whether a frame may be dropped: an array, of fewer than 16 members, that begins with its number."""
    return frame[5] == PACKET or frame[5] == DELIVER or TRACE_REPORT <= frame[5] <= NO_ITEM


cdef void _free(ChunkList *chunks) noexcept:
    cdef Chunk *next
    while chunks.first != NULL:
        next = chunks.first.next
        PyMem_RawFree(chunks.first)
        chunks.first = next
    chunks.last = NULL


cdef uint8_t *_copy(const ChunkList *chunks, uint8_t *to) noexcept:
    cdef Chunk *chunk = chunks.first
    while chunk != NULL:
        memcpy(to, _data(chunk) + chunk.start, chunk.used - chunk.start)
        to += chunk.used - chunk.start
        chunk = chunk.next
    return to


cdef class FrameBuffer:
    """Frames that were not yet given to the transport of a link."""

    def __init__(self, size_t max_lossy, size_t max_size, LinkTraffic traffic=None):
        """Initialise with the number of bytes above which frames are dropped, and above which the link is closed.

        traffic: of the link, if it has several buffers.
        """
        self.max_lossy = max_lossy
        self.max_size = max_size
        self.drops = True  # if False, the link is closed where a frame would be dropped
        self.traffic = LinkTraffic() if traffic is None else traffic

    def __dealloc__(self):
        Py_XDECREF(self.ready_bytes)
        _free(&self.kept)
        _free(&self.queued)

    # --- frames

    def add(self, bytes frames not None):
        """Add whole frames."""
        cdef size_t length = PyBytes_GET_SIZE(frames)
        cdef uint8_t *at = self.begin_frame(length)
        memcpy(at, PyBytes_AS_STRING(frames), length)
        self.end_frame(at + length)

    def add_body(self, bytes body not None):
        """Add a frame, given without its length."""
        cdef size_t length = PyBytes_GET_SIZE(body)
        cdef uint8_t *at = self.begin_frame(length + 4)
        at[0], at[1], at[2], at[3] = length >> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255
        memcpy(at + 4, PyBytes_AS_STRING(body), length)
        self.end_frame(at + 4 + length)

    cdef uint8_t *begin_frame(self, size_t most) except NULL:
        """Return where the next frame goes, with room for `most` bytes."""
        cdef Chunk *chunk
        if self.is_paused:
            chunk = self._room_in(&self.queued, most)
            return _data(chunk) + chunk.used
        if self.ready + most > self.ready_room:
            self._grow(most)
        return <uint8_t *> PyBytes_AS_STRING(<object> self.ready_bytes) + self.ready

    cdef int end_frame(self, const uint8_t *end) except -1:
        """End the frame that was begun, or several."""
        cdef Chunk *chunk = self.queued.last
        cdef size_t used, size = self.size
        if not self.is_paused:
            self.ready = end - <uint8_t *> PyBytes_AS_STRING(<object> self.ready_bytes)
            return 0
        used = end - _data(chunk)
        self.size += used - chunk.used
        chunk.used = used
        if self.size > self.max_lossy and self.drops:
            self._drop()
        self.traffic.waiting += <int64_t> self.size - <int64_t> size
        return 0

    def limit(self, size_t max_lossy):
        """Change the number of bytes above which the oldest lossy frames are dropped, at once if `drops`."""
        cdef size_t size = self.size
        self.max_lossy = max_lossy
        if self.drops:
            self._drop()
        self.traffic.waiting += <int64_t> self.size - <int64_t> size

    # --- writing

    def pause(self):
        """Queue frames from now on."""
        self.is_paused = True

    def take(self):
        """Remove and return the bytes that are ready; no memory is held then."""
        if self.ready == 0:
            return b""
        resize_bytes(&self.ready_bytes, self.ready)
        taken = <bytes> self.ready_bytes
        Py_XDECREF(self.ready_bytes)
        self.ready_bytes = NULL
        self.expected = min(self.ready, <size_t> MAX_EXPECTED)
        self.ready = self.ready_room = 0
        return taken

    def resume(self):
        """Remove and return all bytes; queue no more."""
        self.is_paused = False
        if self.size:
            self.end_frame(_copy(&self.queued, _copy(&self.kept, self.begin_frame(self.size))))
            _free(&self.kept)
            _free(&self.queued)
            self.traffic.waiting -= self.size
            self.size = self.allocated = 0
        return self.take()

    cdef size_t move(self, FrameBuffer to, size_t most) except? 0:
        """Move the oldest queued frames to another buffer, until they have `most` bytes or more; return their bytes."""
        cdef Chunk *first
        cdef uint8_t *at
        cdef size_t length, moved = 0
        while moved < most and self.queued.first != NULL:
            first = self.queued.first
            length = 0
            while moved + length < most and first.start + length < first.used:
                length += 4 + <size_t> frame_length(_data(first) + first.start + length)
            at = to.begin_frame(length)
            memcpy(at, _data(first) + first.start, length)
            to.end_frame(at + length)
            moved += length
            first.start += length
            if first.start == first.used:
                self._discard_first()
        self.size -= moved
        self.traffic.waiting -= moved
        return moved

    def take_dropped(self):
        """Return the number of frames dropped since the last call."""
        dropped, self.unreported = self.unreported, 0
        return dropped

    @property
    def is_overfull(self):
        """Whether the link must be closed."""
        return self.size > (self.max_size if self.drops else self.max_lossy)

    # --- memory

    cdef int _grow(self, size_t more) except -1:
        """Make room in the ready bytes: at first as much as the last ones needed."""
        cdef size_t room = max(2 * self.ready_room, self.ready + more)
        self.ready_room = 0
        if self.ready_bytes == NULL:
            room = max(room, self.expected, <size_t> MIN_READY)
            self.ready_bytes = new_bytes(NULL, room)
        else:
            resize_bytes(&self.ready_bytes, room)
        self.ready_room = room
        return 0

    cdef Chunk *_room_in(self, ChunkList *chunks, size_t more) except NULL:
        """Return the last chunk of a list, or a new one, with room for more bytes."""
        cdef Chunk *chunk = chunks.last
        cdef size_t room
        if chunk != NULL and chunk.room - chunk.used >= more:
            return chunk
        room = max(more, CHUNK - sizeof(Chunk))
        chunk = <Chunk *> resized(NULL, sizeof(Chunk) + room)
        chunk.next, chunk.start, chunk.used, chunk.room = NULL, 0, 0, room
        if chunks.last == NULL:
            chunks.first = chunk
        else:
            chunks.last.next = chunk
        chunks.last = chunk
        self.allocated += sizeof(Chunk) + room
        return chunk

    cdef int _drop(self) except -1:
        """Drop the oldest lossy frames while too much is queued; keep the others that stood before them."""
        cdef const uint8_t *oldest
        cdef Chunk *kept
        cdef size_t length
        while self.size > self.max_lossy and self.queued.first != NULL:
            oldest = _data(self.queued.first) + self.queued.first.start
            length = 4 + <size_t> frame_length(oldest)
            if _is_lossy(oldest):
                self.size -= length
                self.traffic.dropped += 1
                self.unreported += 1
            else:
                kept = self._room_in(&self.kept, length)
                memcpy(_data(kept) + kept.used, oldest, length)
                kept.used += length
            self.queued.first.start += length
            if self.queued.first.start == self.queued.first.used:
                self._discard_first()
        return 0

    cdef void _discard_first(self) noexcept:
        cdef Chunk *first = self.queued.first
        self.queued.first = first.next
        if first.next == NULL:
            self.queued.last = NULL
        self.allocated -= sizeof(Chunk) + first.room
        PyMem_RawFree(first)


cdef list _numbers(uint32_t bits):
    return [number for number in range(CLASSES) if bits >> number & 1]


cdef class LinkOutput(FrameBuffer):
    """The frames for one peer; if it is a neighbour, also its packets without credit, and the credit that it has here."""

    def __init__(self, size_t max_lossy, size_t max_size, size_t window=0, size_t mark=0, size_t max_packets=0):
        """Initialise with the limits of a `FrameBuffer`.

        window: bytes of each class that may be on the way, 0: no packet needs credit; max_packets: bytes of a queue
        above which its oldest packets are dropped, where those who feed it cannot be stopped.
        """
        super().__init__(max_lossy, max_size)
        self.window, self.mark, self.max_packets = window, mark, max_packets
        self.queues = []

    def __dealloc__(self):
        PyMem_RawFree(self.classes)

    def open_queues(self):
        """Queue packets without credit from now on: the peer is a router."""
        cdef int i
        if self.window == 0 or self.classes != NULL:
            return
        self.classes = <HopClass *> zeroed(CLASSES, sizeof(HopClass))
        self.queues = [None] * CLASSES
        for i in range(CLASSES):
            self.classes[i].limit = self.classes[i].granted = self.window

    # --- packets to the neighbour

    cdef FrameBuffer target(self, uint64_t hops):
        """Return the buffer or queue where a packet goes; call `added` after that."""
        cdef FrameBuffer queue
        if hops >= CLASSES or self.classes == NULL:
            return self
        queue = <FrameBuffer> self.queues[hops]
        if queue is None:
            if not self.is_paused and self.classes[hops].sent < self.classes[hops].limit:
                return self
            queue = FrameBuffer(self.max_packets, self.max_packets, self.traffic)
            queue.pause()
            self.queues[hops] = queue
        return queue

    cdef int added(self, uint64_t hops, size_t length) except -1:
        """Count a packet; return 1 if its queue is long."""
        cdef FrameBuffer queue
        cdef HopClass *of
        if hops >= CLASSES or self.classes == NULL:
            return 0
        of = &self.classes[hops]
        queue = <FrameBuffer> self.queues[hops]
        if queue is None:
            of.sent += length
            return 0
        if queue.size > self.mark:
            of.is_long = True
        if of.is_long:
            self.fed |= <uint32_t> 1 << hops
        return of.is_long

    def add_packet(self, uint64_t hops, bytes body not None):
        """Add a packet, given as a frame without its length."""
        self.target(hops).add_body(body)
        self.added(hops, PyBytes_GET_SIZE(body) + 4)

    def add_later(self, bytes body not None):
        """Add a frame, given without its length, that follows all packets which were added before.

        It is left out if another one still waits.
        """
        cdef int i
        if not self.queued_packets:
            self.add_body(body)
        elif self.later is None:
            self.later = body
            for i in range(CLASSES):
                if self.queues[i] is not None:
                    self.classes[i].awaited = self.classes[i].sent + (<FrameBuffer> self.queues[i]).size

    def grant(self, uint32_t hops, uint64_t limit):
        """Handle credit of the neighbour: it accepts packets of a class up to a limit."""
        if hops < CLASSES and self.classes != NULL and limit > self.classes[hops].limit:
            self.classes[hops].limit = limit

    def release(self):
        """Move the queued packets that have credit to the buffer, unless the neighbour does not read."""
        cdef uint32_t i
        cdef HopClass *of
        cdef FrameBuffer queue
        if self.is_paused or self.classes == NULL:
            return
        for i in range(CLASSES):
            queue = <FrameBuffer> self.queues[i]
            if queue is None:
                continue
            of = &self.classes[i]
            if of.sent < of.limit:
                of.sent += queue.move(self, of.limit - of.sent)
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
        self.add_body(self.later)
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
        """Return the number of frames dropped since the last call."""
        cdef FrameBuffer queue
        dropped, self.unreported = self.unreported, 0
        for queue in self.queues:
            if queue is not None:
                dropped += queue.take_dropped()
        return dropped

    @property
    def queued_packets(self):
        """The bytes of the packets without credit."""
        cdef FrameBuffer queue
        cdef size_t size = 0
        for queue in self.queues:
            if queue is not None:
                size += queue.size
        return size
