"""Matching of messages in frames, without objects. See `frame_matching.pxd`."""

from bisect import bisect_left
from time import sleep

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint32_t

from cbnet._kernels.clocks cimport thread_ns
from cbnet._kernels.frame_message cimport FrameMessage, close_message, open_message, read_message
from cbnet._kernels.memory cimport resized
from cbnet._kernels.pivot_memtable cimport MemtableIndex
from cbnet._kernels.pivot_table cimport PivotIndex, Remainder
from cbnet._kernels.target_set cimport close_targets, has_target, open_targets, take_targets

cdef enum:
    SAMPLE_INTERVAL = 64  # matches; the last of each interval is timed


cdef class LiveMatcher:
    """Finds the slots of messages in a `LiveTable[int]`; counts its matches and times a sample of them."""

    def __dealloc__(self):
        PyMem_RawFree(self.slots)
        PyMem_RawFree(self.found.targets)
        close_targets(&self.targets)
        close_message(&self.message)

    def __init__(self, table, tuple bounds=()):
        self.table = table
        self.bounds = bounds
        self._within = [0] * (len(bounds) + 1)
        self.refresh()

    @property
    def within(self):
        """Timed matches per bucket; the last one has no bound."""
        return list(self._within)

    cdef int refresh(self) except -1:
        """Take the present parts of the table."""
        cdef list labels = self.table._labels
        if self.table._merger is not None:
            sleep(0)  # let it run now and not after 5 ms, so that the memtables stay small
        state = self.table._state
        if state is not self.state:
            remainders = [level.remainder for level in state.levels]
            self.remainders = tuple([each for each in remainders if not (<Remainder> each).index.is_empty()])
            self.memtables = state.memtables
            self.state = state
        if self.slot_count != <uint32_t> len(labels) or self.slots == NULL:
            self._take_labels(labels)
        return 0

    cdef int _take_labels(self, list labels) except -1:
        """Copy the slots of new targets, and make room for them in the set of targets."""
        cdef uint32_t count = <uint32_t> len(labels)
        cdef uint32_t room = count + count // 4 + 64
        if self.slots == NULL or count > self.slot_room:
            self.slots = <uint32_t *> resized(self.slots, room * sizeof(uint32_t))
            close_targets(&self.targets)
            self.targets.bits = self.targets.summary = NULL
            open_targets(&self.targets, room)
            self.slot_room = room
        self.targets.total = count
        while self.slot_count < count:
            self.slots[self.slot_count] = labels[self.slot_count]
            self.slot_count += 1
        return 0

    cdef int begin(self, const FrameMessage *messages, uint32_t count) except -1:
        """Look up some messages; return 1, or 0 if Python must match them."""
        cdef MemtableIndex memtable
        cdef Remainder remainder
        cdef int64_t start = 0
        for memtable in self.memtables:
            if memtable.conditional:
                return 0
        for remainder in self.remainders:
            if not remainder.index.reads(messages, count):
                return 0
        self.messages = messages
        if self.matches // SAMPLE_INTERVAL != (self.matches + count) // SAMPLE_INTERVAL:
            start = thread_ns()
        for remainder in self.remainders:
            remainder.index.begin(messages, count, &self.targets, remainder.bits)
        if start:
            self.begin_ns = (thread_ns() - start) // count
        return 1

    cdef int finish(self, uint32_t number) except -1:
        """Find the slots of one of these messages; return 1, or 0 if Python must match it."""
        self.matches += 1
        return self._find(number) if self.matches % SAMPLE_INTERVAL else self._time(number)

    cdef int _find(self, uint32_t number) except -1:
        cdef Remainder remainder
        cdef MemtableIndex memtable
        cdef bint is_decided = True
        for remainder in self.remainders:
            is_decided &= remainder.index.finish(number, remainder.bits)
        for memtable in self.memtables:
            if memtable.keys:
                memtable.add_targets(self.messages + number, &self.targets)
        self._take_slots()
        return is_decided

    cdef int _take_slots(self) except -1:
        """Replace the set of targets by the list of their slots."""
        cdef uint32_t *found
        cdef int64_t i
        self.found.used = 0
        if not take_targets(&self.targets, &self.found):
            raise MemoryError
        found = self.found.targets
        for i in range(self.found.used):
            found[i] = self.slots[found[i]]
        return 0

    cdef int _time(self, uint32_t number) except -1:
        cdef int64_t start = thread_ns()
        cdef int64_t duration
        cdef bint is_decided = self._find(number)
        duration = self.begin_ns + thread_ns() - start
        self.timed += 1
        self.ns += duration
        self._within[bisect_left(self.bounds, duration)] += 1
        return is_decided

    def match_frame(self, bytes data):
        """Return the slots of the message in some bytes: attributes, tags and payload; None if Python must match it."""
        cdef const uint8_t *first = data
        cdef int64_t i
        if self.message.attributes == NULL:
            open_message(&self.message)
        self.refresh()
        if read_message(first, first + len(data), &self.message) == NULL or not self.begin(&self.message, 1):
            return None
        if not self.finish(0):
            return None
        return [self.found.targets[i] for i in range(self.found.used)]


cdef class RightMatcher:
    """Decides whether a client may publish messages; see `network.security.rights`."""

    def __cinit__(self):
        open_targets(&self.targets, 1)

    def __dealloc__(self):
        close_targets(&self.targets)

    def __init__(self, PivotIndex index, max_characters):
        self.index = index
        self.max_characters = UINT64_MAX if max_characters is None else max_characters

    cdef bint allows(self, const FrameMessage *message) except -1:
        """Return whether the client may publish a message."""
        cdef bint is_allowed
        if message.characters > self.max_characters:
            return False
        if self.index is None:
            return True
        if not self.index.reads(message, 1):
            return False
        self.index.begin(message, 1, &self.targets, NULL)
        self.index.finish(0, NULL)
        is_allowed = has_target(&self.targets, 0)  # not if it is undecided
        self.targets.bits[0] = self.targets.summary[0] = 0
        return is_allowed

    def allows_frame(self, bytes data):
        """Return whether the client may publish the message in some bytes; None if the message is not plain."""
        cdef FrameMessage message
        cdef const uint8_t *first = data
        open_message(&message)
        try:
            if read_message(first, first + len(data), &message) == NULL:
                return None
            return self.allows(&message)
        finally:
            close_message(&message)
