"""Runs of messages whose publisher waits until they are stored, read from bytes without an object for each.

    DurablePublish   [72, publisher, sequence, floor, timeout, attributes, tags, payload, required?]

    publisher 7, sequence 41 │ 7, 42 │ 7, 43 │ 9, 1 …        a run: publisher 7, from 41 on, three messages
    kind             0           1       0                   kind 0: slots 3 and 8 of the table, home slot 1

`required` is nil, which clients of version 4 leave out, or an empty array. A run has plain messages of one publisher with consecutive numbers, all complete and all within the window of their
publisher. The *kind* of a message is what it matches: slots of the forwarding table, and of the table of homes. Many
messages have the same kind, so Python decides once for each what is done with them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from cbnet._kernels.frame_codes cimport (
    DURABLE_PUBLISH, DURABLE_PUBLISH_ARRAY, FIXARRAY, FLOAT64, MAX_SECONDS, MAX_UNSETTLED, MESSAGE_ARRAY, NIL,
    OLD_DURABLE_PUBLISH_ARRAY,
)
from cbnet._kernels.frame_matching cimport LiveMatcher, RightMatcher
from cbnet._kernels.frame_message cimport (
    FrameMessage, close_message, open_message, read_message, read_number, stored_content,
)
from cbnet._kernels.frame_writer cimport frame_length
from cbnet._kernels.pivot_match cimport MESSAGES_AT_ONCE
from cbnet._kernels.route_table cimport CLIENT_ROLE, FastLink, LinkPlaces

cdef enum:
    MAX_KINDS = 4096            # known at once


_SEPARATOR = b"\xff\xff\xff\xff"  # no slot


cdef struct RunHead:
    uint64_t publisher, sequence, floor
    double timeout
    bint has_required
    bint requires_all           # whether `required` is nil
    uint64_t count              # messages, of a run


cdef const uint8_t *_read_head(const uint8_t *at, const uint8_t *end, RunHead *head) noexcept nogil:
    """Read all before the message; return NULL if Python must read it, or its sequence is not in the window."""
    cdef uint64_t bits = 0
    cdef int i
    if end - at < 2 or not OLD_DURABLE_PUBLISH_ARRAY <= at[0] <= DURABLE_PUBLISH_ARRAY or at[1] != DURABLE_PUBLISH:
        return NULL
    head.has_required = at[0] == DURABLE_PUBLISH_ARRAY
    at = read_number(read_number(at + 2, end, &head.publisher), end, &head.sequence)
    at = read_number(at, end, &head.floor)
    if at == NULL or end - at < 9 or at[0] != FLOAT64:
        return NULL
    for i in range(8):
        bits = (bits << 8) | at[1 + i]
    memcpy(&head.timeout, &bits, 8)
    if head.publisher >> 63 or head.floor == 0 or head.floor > head.sequence:
        return NULL
    if head.sequence - head.floor >= MAX_UNSETTLED or not 0 < head.timeout <= MAX_SECONDS:
        return NULL
    return at + 9


cdef bint _read_end(const uint8_t *at, const uint8_t *end, RunHead *head) noexcept nogil:
    """Read what follows the message; return False if Python must read it."""
    if not head.has_required:
        head.requires_all = True
        return at == end
    if end - at != 1 or (at[0] != NIL and at[0] != FIXARRAY):
        return False
    head.requires_all = at[0] == NIL
    return True


cdef class RunReader:
    """Reads runs, and knows the kinds of their messages."""

    cdef LinkPlaces links
    cdef LiveMatcher matcher, homes
    cdef dict kinds             # by the bytes of their slots
    cdef readonly list slots    # by kind: those of the forwarding table, and those of the table of homes
    cdef FrameMessage[MESSAGES_AT_ONCE] messages

    def __cinit__(self):
        cdef int i
        for i in range(MESSAGES_AT_ONCE):
            open_message(self.messages + i)

    def __dealloc__(self):
        cdef int i
        for i in range(MESSAGES_AT_ONCE):
            close_message(self.messages + i)

    def __init__(self, LinkPlaces links not None, LiveMatcher matcher not None, LiveMatcher homes not None):
        """Initialise with the links of the router, and the matchers of the forwarding table and the table of homes."""
        self.links, self.matcher, self.homes = links, matcher, homes
        self.forget_kinds()

    def forget_kinds(self):
        """Forget all kinds: slots have other meanings."""
        self.kinds, self.slots = {}, []

    def read(self, int64_t number, data, Py_ssize_t start, Py_ssize_t end, int64_t most):
        """Return the run of a client that begins at `start`, `most` messages at most; None if Python must read the first.

        It is where it ends in the bytes, publisher, first sequence number, last floor, shortest timeout, `required`, and
        two lists: the kinds of its messages, and their contents.
        """
        cdef Py_buffer view
        cdef const uint8_t *first
        cdef const uint8_t *at
        cdef const uint8_t *before
        cdef RunHead run
        cdef list kinds = [], contents = []
        cdef uint32_t count, i
        cdef const FastLink *link
        if number not in self.links.places:
            return None
        link = self.links.at + <uint32_t> self.links.places[number]
        if link.role != CLIENT_ROLE:
            return None
        if len(self.slots) > MAX_KINDS:
            self.forget_kinds()
        self.matcher.refresh()
        self.homes.refresh()
        run.count = 0
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            first = <const uint8_t *> view.buf
            at = first + start
            while most > 0:
                before = at
                count = self._read_some(&at, first + end, link, <uint32_t> min(most, MESSAGES_AT_ONCE), &run)
                if not self.matcher.begin(self.messages, count) or not self.homes.begin(self.messages, count):
                    at = before
                    break
                for i in range(count):
                    if not self.matcher.finish(i) or not self.homes.finish(i):
                        self.undo(i + 1)
                        del kinds[len(kinds) - i:], contents[len(contents) - i:]
                        at = before
                        break
                    kinds.append(self._kind())
                    contents.append(stored_content(self.messages + i))
                if at == before:
                    break
                most -= count
                if count < MESSAGES_AT_ONCE:
                    break
            start = at - first
        finally:
            PyBuffer_Release(&view)
        if not kinds:
            return None
        required = None if run.requires_all else []
        return start, run.publisher, run.sequence, run.floor, run.timeout, required, kinds, contents

    def match(self, list contents):
        """Return the kinds of messages that are stored in this form, without homes; None unless all are plain."""
        cdef list kinds = []
        cdef Py_ssize_t start, i, count
        cdef bytes content
        cdef const uint8_t *at
        cdef const uint8_t *end
        self.matcher.refresh()
        for start in range(0, len(contents), MESSAGES_AT_ONCE):
            count = min(len(contents) - start, MESSAGES_AT_ONCE)
            for i in range(count):
                content = contents[start + i]
                at = <const uint8_t *> PyBytes_AS_STRING(content)
                end = at + len(content)
                if at == end or at[0] != MESSAGE_ARRAY or read_message(at + 1, end, self.messages + i) != end:
                    self.undo_matches(start)
                    return None
            if not self.matcher.begin(self.messages, <uint32_t> count):
                self.undo_matches(start)
                return None
            for i in range(count):
                if not self.matcher.finish(<uint32_t> i):
                    self.undo_matches(start + i + 1)
                    return None
                kinds.append(self._kind_of(_bytes_of(self.matcher), False))
        return kinds

    def undo_matches(self, uint64_t count):
        """Do not count the last messages as matched by the forwarding table: they are matched again."""
        self.matcher.matches -= count

    def undo(self, uint64_t count):
        """Do not count the last messages as matched: they are matched again."""
        self.matcher.matches -= count
        self.homes.matches -= count

    cdef uint32_t _read_some(
        self, const uint8_t **place, const uint8_t *stop, const FastLink *link, uint32_t most, RunHead *run
    ) except? 0:
        """Read some messages that continue a run; return how many, and move to the frame after them."""
        cdef const uint8_t *at = place[0]
        cdef const uint8_t *body
        cdef RunHead head
        cdef FrameMessage *message
        cdef uint32_t length, count = 0
        while count < most and stop - at >= 4:
            length = frame_length(at)
            if length > link.max_length or <size_t> (stop - at) < <size_t> length + 4:
                break
            message = self.messages + count
            body = read_message(_read_head(at + 4, at + 4 + length, &head), at + 4 + length, message)
            if body == NULL or not _read_end(body, at + 4 + length, &head):
                break
            if run.count and not _continues(run, &head):
                break
            if link.right != NULL and not (<RightMatcher> link.right).allows(message):
                break
            if run.count == 0:
                run[0] = head
                run.count = 0
            run.floor = max(run.floor, head.floor)
            run.timeout = min(run.timeout, head.timeout)
            run.count += 1
            at += 4 + length
            count += 1
        place[0] = at
        return count

    cdef uint32_t _kind(self) except? 0:
        """Return the kind of the message that was matched last."""
        return self._kind_of(_bytes_of(self.matcher) + _SEPARATOR + _bytes_of(self.homes), True)

    cdef uint32_t _kind_of(self, bytes key, bint has_homes) except? 0:
        kind = self.kinds.get(key)
        if kind is None:
            kind = self.kinds[key] = len(self.slots)
            self.slots.append((_slots_of(self.matcher), _slots_of(self.homes) if has_homes else None))
        return kind


cdef bint _continues(const RunHead *run, const RunHead *head) noexcept nogil:
    return (
        head.publisher == run.publisher and head.sequence == run.sequence + run.count
        and head.requires_all == run.requires_all
    )


cdef bytes _bytes_of(LiveMatcher matcher):
    return PyBytes_FromStringAndSize(<const char *> matcher.found.targets, matcher.found.used * sizeof(uint32_t))


cdef list _slots_of(LiveMatcher matcher):
    cdef int64_t i
    return [matcher.found.targets[i] for i in range(matcher.found.used)]
