"""Deliveries to a client, read from Deliver frames without a frame object for each.

    │ length │ 0x98 │ 36 │ subscriptions │ source │ incarnation │ number │ attributes │ tags │ payload │
                                                                  └─ kept as bytes until used ─┘

Only plain frames are read (`frame_message`): their bytes are checked here, so decoding them later cannot fail. Any other
frame is left to Python, which handles it, or reports the error.

A message is delivered to a subscription once: another router, or one before its restart, may deliver it again. Those of
a source and its incarnation are known by their numbers (`duplicate_detector`). A message for very many subscriptions comes in several
frames, one after another.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_RawFree
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize
from cbnet._kernels.duplicate_detector cimport DuplicateDetector
from cbnet._kernels.frame_codes cimport (
    ARRAY16, DELIVER, DELIVER_ARRAY, FIXARRAY, LENGTH_BYTES, MAX_ENTRIES, MAX_NAME_LENGTH,
)
from cbnet._kernels.frame_message cimport (
    FrameMessage, close_message, open_message, read_count, read_message, read_number, read_text, stored_content,
)
from cbnet._kernels.frame_writer cimport frame_length
from cbnet._kernels.memory cimport resized

from typing import Any

from msgspec.msgpack import Decoder

cdef object _decode = Decoder(tuple[dict[str, Any], list[str], bytes]).decode


@cython.no_gc  # it refers to plain values only; the garbage collector took 0.2 µs for each of many that were kept
cdef class Delivery:
    """A delivered message, decoded when its content is first read."""

    cdef bytes _content         # an array of attributes, tags and payload; None: decoded
    cdef dict _message
    cdef bytes _payload
    cdef readonly str source    # the router where it was published
    cdef uint64_t incarnation, number

    def __init__(self, dict message not None, bytes payload not None, str source not None, tuple id not None):
        self._message, self._payload, self.source = message, payload, source
        _, self.incarnation, self.number = id

    @property
    def message(self):
        """The attributes, and the tags, if any, under "#"."""
        if self._content is not None:
            self._read()
        return self._message

    @property
    def payload(self):
        """The payload."""
        if self._content is not None:
            self._read()
        return self._payload

    @property
    def id(self):
        """The source, its incarnation and the number of the message there: unique."""
        return self.source, self.incarnation, self.number

    cdef int _read(self) except -1:
        self._message, tags, self._payload = _decode(self._content)
        if tags:
            self._message["#"] = tags
        self._content = None
        return 0

    def _members(self):
        return self.message, self.payload, self.source, self.id

    def __eq__(self, other):
        return self._members() == (<Delivery> other)._members() if isinstance(other, Delivery) else NotImplemented

    def __hash__(self):
        return hash(self.id)

    def __reduce__(self):
        return Delivery, self._members()

    def __repr__(self):
        return "Delivery(message={!r}, payload={!r}, source={!r}, id={!r})".format(*self._members())


cdef struct Header:             # of a Deliver; its subscriptions are in `DeliveryReader.ids`
    const char *source
    uint32_t length             # of the source, in bytes
    uint64_t incarnation, number

cdef struct IdList:
    uint64_t *ids
    size_t count, room


cdef inline int _reserve(IdList *list, size_t room) except -1:
    if room > list.room:
        list.ids, list.room = <uint64_t *> resized(list.ids, room * sizeof(uint64_t)), room
    return 0


cdef class DeliveryReader:
    """The deliveries to one client."""

    cdef DuplicateDetector duplicates
    cdef FrameMessage message
    cdef IdList subscriptions   # of the present frame
    cdef str source             # of the last message
    cdef uint64_t incarnation, number  # of the last message
    cdef IdList receivers       # subscriptions that the last message was delivered to

    def __cinit__(self):
        open_message(&self.message)
        self.duplicates = DuplicateDetector()

    def __dealloc__(self):
        close_message(&self.message)
        PyMem_RawFree(self.subscriptions.ids)
        PyMem_RawFree(self.receivers.ids)

    def highest(self):
        """Return the highest number of the messages of each source and its incarnation."""
        return self.duplicates.highest()

    def add(self, list subscriptions not None, Delivery delivery not None):
        """Add a delivery to some subscriptions; return it, in a list, for each of them that has not received it."""
        cdef Header header
        cdef Py_ssize_t length
        header.source = PyUnicode_AsUTF8AndSize(delivery.source, &length)
        header.length, header.incarnation, header.number = <uint32_t> length, delivery.incarnation, delivery.number
        _reserve(&self.subscriptions, len(subscriptions))
        self.subscriptions.count = 0
        for id in subscriptions:
            self.subscriptions.ids[self.subscriptions.count] = id
            self.subscriptions.count += 1
        self._accept(&header)
        return {self.subscriptions.ids[i]: [delivery] for i in range(self.subscriptions.count)}

    def read(self, data, Py_ssize_t start, uint32_t max_length):
        """Read plain Deliver frames from `start` on, up to the first other frame, or one that is not complete.

        Return where it begins, the number of frames, and the new messages of each subscription, in order.
        """
        cdef Py_buffer view
        cdef Py_ssize_t frames = 0
        cdef dict batches = {}
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            while self._read(<const uint8_t *> view.buf, &start, view.len, max_length, batches):
                frames += 1
        finally:
            PyBuffer_Release(&view)
        return start, frames, batches

    cdef bint _read(
        self, const uint8_t *data, Py_ssize_t *start, Py_ssize_t end, uint32_t max_length, dict batches
    ) except -1:
        """Read a frame and move `start` behind it; return False if it is left to Python."""
        cdef const uint8_t *frame = data + start[0] + LENGTH_BYTES
        cdef Py_ssize_t left = end - start[0] - LENGTH_BYTES
        cdef uint32_t length
        cdef size_t i
        cdef Header header
        cdef Delivery delivery
        if left < 2 or frame[0] != DELIVER_ARRAY or frame[1] != DELIVER:
            return False
        length = frame_length(frame - LENGTH_BYTES)
        if length > left or length > max_length or not self._read_frame(frame + 2, frame + length, &header):
            return False
        start[0] += LENGTH_BYTES + length
        self._accept(&header)
        if self.subscriptions.count == 0:
            return True
        delivery = Delivery.__new__(Delivery)
        delivery.source, delivery.incarnation, delivery.number = self.source, header.incarnation, header.number
        delivery._content = stored_content(&self.message)
        for i in range(self.subscriptions.count):
            id = self.subscriptions.ids[i]
            batch = batches.get(id)
            if batch is None:
                batches[id] = [delivery]
            elif (<list> batch)[len(<list> batch) - 1] is not delivery:  # or the frame names it twice
                (<list> batch).append(delivery)
        return True

    cdef bint _read_frame(self, const uint8_t *at, const uint8_t *end, Header *header) except -1:
        """Read a frame, without its number; return False if it is not plain."""
        cdef uint64_t characters = 0
        at = read_text(self._read_ids(at, end), end, &header.source, &header.length, &characters)
        if not 1 <= characters <= MAX_NAME_LENGTH:
            return False
        at = read_number(read_number(at, end, &header.incarnation), end, &header.number)
        return read_message(at, end, &self.message) == end

    cdef const uint8_t *_read_ids(self, const uint8_t *at, const uint8_t *end) except? NULL:
        cdef uint32_t count = 0, i
        at = read_count(at, end, FIXARRAY, ARRAY16, &count)
        if count > MAX_ENTRIES:
            return NULL
        _reserve(&self.subscriptions, count)
        self.subscriptions.count = count
        for i in range(count):
            at = read_number(at, end, self.subscriptions.ids + i)
        return at

    # --- duplicates

    cdef int _accept(self, const Header *header) except -1:
        """Keep of the subscriptions of a frame those that have not received its message."""
        cdef bint is_new = self.duplicates.is_new_packet(
            header.source, header.length, header.incarnation, 0, <int64_t> header.number
        )
        if not self._is_last_source(header) or header.incarnation != self.incarnation or header.number != self.number:
            if is_new:
                self._begin(header)
            else:
                self.subscriptions.count = 0
        elif self.receivers.count:
            self._remove_receivers()
        if self.subscriptions.count:
            self._add_receivers()
        return 0

    cdef int _add_receivers(self) except -1:
        """Add the subscriptions of a frame to those that have received the last message."""
        _reserve(&self.receivers, self.receivers.count + self.subscriptions.count)
        memcpy(
            self.receivers.ids + self.receivers.count, self.subscriptions.ids, self.subscriptions.count * sizeof(uint64_t)
        )
        self.receivers.count += self.subscriptions.count
        return 0

    cdef bint _is_last_source(self, const Header *header) except -1:
        cdef Py_ssize_t length
        cdef const char *source
        if self.source is None:
            return False
        source = PyUnicode_AsUTF8AndSize(self.source, &length)
        return length == header.length and memcmp(source, header.source, length) == 0

    cdef int _begin(self, const Header *header) except -1:
        """Begin a new message."""
        if not self._is_last_source(header):
            self.source = PyUnicode_DecodeUTF8(header.source, header.length, NULL)
        self.incarnation, self.number = header.incarnation, header.number
        self.receivers.count = 0
        return 0

    cdef int _remove_receivers(self) except -1:
        """Remove the subscriptions that have received the last message."""
        cdef size_t i, kept = 0
        received = {self.receivers.ids[i] for i in range(self.receivers.count)}
        for i in range(self.subscriptions.count):
            if self.subscriptions.ids[i] not in received:
                self.subscriptions.ids[kept] = self.subscriptions.ids[i]
                kept += 1
        self.subscriptions.count = kept
        return 0
