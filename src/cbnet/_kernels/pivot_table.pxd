"""The pivot index as Python objects, for other kernels. See `pivot_table.pyx`."""

from libc.stdint cimport uint8_t, uint32_t

from cbnet._kernels.dict_encoding cimport DictEncoder
from cbnet._kernels.frame_message cimport FrameMessage
from cbnet._kernels.message_encoding cimport Attribute
from cbnet._kernels.pivot_match cimport MESSAGES_AT_ONCE, State
from cbnet._kernels.pivot_view cimport View
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.target_set cimport Found, TargetSet

cdef class PivotIndex:
    cdef View view
    cdef readonly Symbols symbols
    cdef readonly uint32_t targets
    cdef object kept
    cdef State own
    cdef State[MESSAGES_AT_ONCE] states     # of messages of frames
    cdef TargetSet own_targets
    cdef Found found
    cdef DictEncoder encoder
    cdef Attribute *leaves          # of messages of frames
    cdef uint32_t leaf_room
    cdef bint _add_targets(self, object message, TargetSet *targets, const uint8_t *removed) except -1
    cdef bint reads(self, const FrameMessage *messages, uint32_t count) except -1
    cdef int begin(self, const FrameMessage *messages, uint32_t count, TargetSet *targets, const uint8_t *removed) except -1
    cdef int finish(self, uint32_t number, const uint8_t *removed) except -1
    cdef void _begin(self, State *states, uint32_t count, TargetSet *targets, const uint8_t *removed) noexcept
    cdef int _finish(self, State *state, const uint8_t *removed) except -1
    cdef bint is_empty(self) noexcept
    cdef list _labelled(self, list labels)
    cdef int _make_room(self, uint32_t targets) except -1

cdef class Remainder:
    cdef readonly PivotIndex index
    cdef readonly object removed    # an array of bits, one per posting; None: nothing was removed
    cdef uint8_t *bits
    cdef int _set(self, object removed) except -1
