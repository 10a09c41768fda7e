"""Publish frames, written from Python messages without a frame object for each.

    {"dest": "MXP", "price": 300, "#": ["vip"]}, b"seat 7A"

    │ length │ 0x96 │ 22 │ number │ attributes │ tags │ payload │ wants_answer │

Only a plain message is written: a dict of single values, within the limits, with its payload as bytes. The bytes are
those that `network.protocol.wire.encode` gives. Any other message is left to Python, which encodes it, or reports the
error.
"""

from cpython.bool cimport PyBool_Check
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_CheckExact, PyDict_Next
from cpython.exc cimport PyErr_Clear
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from cbnet._kernels.frame_codes cimport (
    ARRAY16, BIN8, FIXARRAY, FIXMAP, FIXSTR, FLOAT64, INT16, INT32, INT64, INT8, IS_FALSE, IS_TRUE, LENGTH_BYTES, MAP16,
    MAX_CLIENT_BYTES, MAX_PAYLOAD_BYTES, MAX_TAGS, MAX_VALUES, NIL, PUBLISH, PUBLISH_ARRAY, STR8,
)
from cbnet._kernels.frame_writer cimport put_length, put_number
from cbnet._kernels.memory cimport resized

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1
    const char *utf8_of "PyUnicode_AsUTF8AndSize" (object text, Py_ssize_t *length)  # NULL: an error is set

cdef enum:
    MIN_ROOM = 512
    HEADER_ROOM = 32            # array, number of the frame, number of the message, and size of the map
    ITEM_ROOM = 16              # a number, or the first bytes of a text, an array or a payload


cdef class PublishWriter:
    """Bytes that grow."""

    cdef uint8_t *data
    cdef size_t used, room

    def __dealloc__(self):
        PyMem_RawFree(self.data)

    cdef inline int reserve(self, size_t more) except -1:
        cdef size_t room
        if self.used + more > self.room:
            room = max(2 * self.room, self.used + more, <size_t> MIN_ROOM)
            self.data, self.room = <uint8_t *> resized(self.data, room), room
        return 0

    # --- MessagePack in its shortest form; there is room for ITEM_ROOM bytes

    cdef inline void put_byte(self, uint8_t byte) noexcept:
        self.data[self.used] = byte
        self.used += 1

    cdef inline void put_wide(self, uint8_t lead, uint64_t number, int width) noexcept:
        """Write a first byte, and a number of `width` bytes."""
        cdef int i
        self.data[self.used] = lead
        for i in range(width):
            self.data[self.used + width - i] = <uint8_t> (number >> (8 * i))
        self.used += 1 + width

    cdef inline void put_int(self, int64_t number) noexcept:
        if number >= 0:
            self.used = put_number(self.data + self.used, <uint64_t> number) - self.data
        elif number >= -32:
            self.put_byte(<uint8_t> number)
        elif number >= -0x80:
            self.put_wide(INT8, <uint64_t> number, 1)
        elif number >= -0x8000:
            self.put_wide(INT16, <uint64_t> number, 2)
        elif number >= -<int64_t> 0x80000000:
            self.put_wide(INT32, <uint64_t> number, 4)
        else:
            self.put_wide(INT64, <uint64_t> number, 8)

    cdef inline void put_size(self, size_t length, uint8_t lead8) noexcept:
        """Write a length; lead8: the first byte of one of 8 bits, which those of 16 and 32 bits follow."""
        if length <= 0xFF:
            self.put_wide(lead8, length, 1)
        elif length <= 0xFFFF:
            self.put_wide(lead8 + 1, length, 2)
        else:
            self.put_wide(lead8 + 2, length, 4)

    cdef inline void put_count(self, size_t count, uint8_t short_lead, uint8_t lead16) noexcept:
        """Write the size of a map or an array."""
        if count < 16:
            self.put_byte(<uint8_t> (short_lead | count))
        else:
            self.put_wide(lead16, count, 2)

    cdef inline bint put_text(self, object text) except -1:
        """Write a text; return False if it is not one, or half of a surrogate pair is in it."""
        cdef Py_ssize_t length
        cdef const char *utf8
        if not PyUnicode_CheckExact(text):
            return False
        utf8 = utf8_of(text, &length)
        if utf8 == NULL:
            PyErr_Clear()
            return False
        self.reserve(length + 2 * ITEM_ROOM)
        if length < 32:
            self.put_byte(<uint8_t> (FIXSTR | length))
        else:
            self.put_size(length, STR8)
        memcpy(self.data + self.used, utf8, length)
        self.used += length
        return True

    cdef inline bint put_value(self, object value) except -1:
        """Write a value; return False if it is not a single one, or not valid."""
        cdef int overflow
        cdef int64_t number
        cdef double real
        cdef uint64_t bits
        if PyUnicode_CheckExact(value):
            return self.put_text(value)
        if PyLong_CheckExact(value):
            number = PyLong_AsLongLongAndOverflow(value, &overflow)
            self.put_int(number)
            return overflow == 0
        if PyFloat_CheckExact(value):
            real = PyFloat_AS_DOUBLE(value)
            memcpy(&bits, &real, 8)
            self.put_wide(FLOAT64, bits, 8)
            return isfinite(real)
        if PyBool_Check(value):
            self.put_byte(IS_TRUE if value is True else IS_FALSE)
            return True
        self.put_byte(NIL)
        return value is None

    # --- frames

    cdef bint put_publish(self, uint64_t number, object message, object payload, bint wants_answer) except -1:
        """Append a frame; return False, and append nothing, if the message is not plain."""
        cdef size_t start = self.used
        self.reserve(HEADER_ROOM)
        self.used += LENGTH_BYTES
        self.put_byte(PUBLISH_ARRAY)
        self.put_byte(PUBLISH)
        self.put_int(<int64_t> number)
        if self._put_message(message) and self._put_payload(payload):
            self.put_byte(IS_TRUE if wants_answer else IS_FALSE)
            if self.used - start <= LENGTH_BYTES + MAX_CLIENT_BYTES:
                put_length(self.data + start, self.data + self.used)
                return True
        self.used = start
        return False

    cdef bint _put_message(self, object message) except -1:
        """Write attributes and tags; the latter are the value of "#"."""
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t place = 0, count
        cdef bint has_tags
        cdef object tags = ()
        if not PyDict_CheckExact(message):
            return False
        has_tags = "#" in <dict> message
        count = len(<dict> message) - has_tags
        if count > MAX_VALUES:
            return False
        self.put_count(count, FIXMAP, MAP16)
        while PyDict_Next(message, &place, &key, &value):
            if has_tags and PyUnicode_CheckExact(<object> key) and <object> key == "#":
                tags = <object> value
            elif not self.put_text(<object> key) or not self.put_value(<object> value):
                return False
        return self._put_tags(tags)

    cdef bint _put_tags(self, object tags) except -1:
        """Write the tags in order, each once."""
        if type(tags) not in (list, tuple, set, frozenset):
            return False
        if len(tags) > 1:
            for tag in tags:
                if not PyUnicode_CheckExact(tag):
                    return False
            tags = sorted(set(tags))
        if len(tags) > MAX_TAGS:
            return False
        self.reserve(ITEM_ROOM)
        self.put_count(len(tags), FIXARRAY, ARRAY16)
        for tag in tags:
            if not self.put_text(tag):
                return False
        return True

    cdef bint _put_payload(self, object payload) except -1:
        cdef size_t length
        if not PyBytes_CheckExact(payload) or PyBytes_GET_SIZE(payload) > MAX_PAYLOAD_BYTES:
            return False
        length = PyBytes_GET_SIZE(payload)
        self.reserve(length + 2 * ITEM_ROOM)
        self.put_size(length, BIN8)
        memcpy(self.data + self.used, PyBytes_AS_STRING(payload), length)
        self.used += length
        return True

    cdef bytes take(self):
        return PyBytes_FromStringAndSize(<char *> self.data, self.used)


def publish_frame(uint64_t number, message, payload, bint wants_answer):
    """Return the Publish frame of a message; None if it is not plain."""
    cdef PublishWriter writer = PublishWriter.__new__(PublishWriter)
    return writer.take() if writer.put_publish(number, message, payload, wants_answer) else None


def publish_frames(list messages not None, list payloads, Py_ssize_t start, size_t enough):
    """Return the frames of the messages from `start` on, and the index of the first message that has none here.

    They end with `enough` bytes, and before a message that is not plain. payloads: as many; None: all are empty.
    """
    cdef PublishWriter writer = PublishWriter.__new__(PublishWriter)
    cdef Py_ssize_t index = start, end = len(messages)
    cdef object payload = b""
    if payloads is not None:
        end = min(end, len(payloads))
    writer.reserve(enough + MIN_ROOM)
    while index < end and writer.used < enough:
        if payloads is not None:
            payload = payloads[index]
        if not writer.put_publish(0, messages[index], payload, False):
            break
        index += 1
    return writer.take(), index
