"""Matching of messages in frames, without objects: against a live table, and against the publish right of a client.

    message ─ names hashed once ─► base, levels (compiled) ─┐
                                └► memtables (uncompiled) ──┴► targets ─► found: slots, in the order of targets

`refresh` takes the present parts of the table: call it after Python ran, since Python may have changed the table. The
GIL is held while matching, so no other thread changes the parts meanwhile.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from cbnet._kernels.frame_message cimport FrameMessage
from cbnet._kernels.pivot_table cimport PivotIndex
from cbnet._kernels.target_set cimport Found, TargetSet

cdef class LiveMatcher:
    cdef object table               # a LiveTable[int]
    cdef object state               # of the table, at the last refresh
    cdef tuple remainders           # of its levels that are not empty
    cdef tuple memtables
    cdef uint32_t *slots            # per target: its label
    cdef uint32_t slot_count, slot_room
    cdef TargetSet targets
    cdef Found found                # slots of the last message: targets[0:used]
    cdef tuple bounds               # ns, ascending
    cdef list _within               # timed matches up to each bound, and above all
    cdef readonly uint64_t matches
    cdef readonly uint64_t timed
    cdef readonly uint64_t ns       # of the timed matches
    cdef int64_t begin_ns           # to look up the message that is timed next
    cdef const FrameMessage *messages       # that were looked up
    cdef FrameMessage message       # of `match_frame`
    # Take the present parts of the table; cheap if they are the same.
    cdef int refresh(self) except -1
    # Look up some messages, at most MESSAGES_AT_ONCE; 0: Python must match them.
    cdef int begin(self, const FrameMessage *messages, uint32_t count) except -1
    # Find the slots of one of these messages, and count it; 0: Python must match it.
    cdef int finish(self, uint32_t number) except -1
    cdef int _take_labels(self, list labels) except -1
    cdef int _find(self, uint32_t number) except -1
    cdef int _take_slots(self) except -1
    cdef int _time(self, uint32_t number) except -1

cdef class RightMatcher:
    cdef PivotIndex index           # of the right, its target is 0; None: any message matches
    cdef TargetSet targets
    cdef uint64_t max_characters
    # Return whether the client may publish a message; if not, Python explains why.
    cdef bint allows(self, const FrameMessage *message) except -1
