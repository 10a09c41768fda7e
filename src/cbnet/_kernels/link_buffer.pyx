"""Bytes to be written to one link, and its traffic.

    ready      frames that are written at the end of this turn of the event loop
    queued     frames since the peer stopped reading; in chunks, so that memory is given back as they are dropped
    kept       lossless frames that stood before dropped ones

Frames are queued in order. When the queue exceeds its byte limit, the oldest lossy frames are dropped, so the newest
remain. Other frames are never dropped: if they exceed their own limit, the link must be closed.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

cdef extern from "Python.h":
    PyObject *new_bytes "PyBytes_FromStringAndSize" (const char *data, Py_ssize_t size) except NULL
    int resize_bytes "_PyBytes_Resize" (PyObject **data, Py_ssize_t size) except -1

cdef enum:
    CHUNK = 1 << 16
    MIN_READY = 1 << 10
    MAX_EXPECTED = 1 << 17

cdef enum:  # numbers of lossy frames, as in `network.protocol.frames`
    PACKET = 10
    TRACE_REPORT = 13  # to NO_ITEM: also REQUEST and REPLY
    NO_ITEM = 16
    DELIVER = 36


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


cdef inline size_t _frame_length(const uint8_t *frame) noexcept nogil:
    return 4 + ((<size_t> frame[0] << 24) | (<size_t> frame[1] << 16) | (<size_t> frame[2] << 8) | frame[3])


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


cdef class LinkBuffer:
    """The frames for one link that were not yet given to its transport."""

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

    cdef size_t move(self, LinkBuffer to, size_t most) except? 0:
        """Move the oldest queued frames to another buffer, until they have `most` bytes or more; return their bytes."""
        cdef Chunk *first
        cdef uint8_t *at
        cdef size_t length, moved = 0
        while moved < most and self.queued.first != NULL:
            first = self.queued.first
            length = 0
            while moved + length < most and first.start + length < first.used:
                length += _frame_length(_data(first) + first.start + length)
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
        chunk = <Chunk *> PyMem_RawMalloc(sizeof(Chunk) + room)
        if chunk == NULL:
            raise MemoryError
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
            length = _frame_length(oldest)
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
