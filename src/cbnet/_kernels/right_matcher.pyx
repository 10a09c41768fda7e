"""Publish rights of a client, checked for messages in frames. See `right_matcher.pxd`."""

from libc.stdint cimport UINT64_MAX, uint8_t

from cbnet._kernels.frame_message cimport FrameMessage, close_message, open_message, read_message
from cbnet._kernels.pivot_table cimport PivotIndex
from cbnet._kernels.target_set cimport close_targets, has_target, open_targets


cdef class RightMatcher:
    """Decides whether a client may publish messages."""

    def __cinit__(self):
        self.targets.bits = self.targets.summary = NULL
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
        self.index.begin(message, 1, &self.targets, NULL)
        self.index.finish(0, NULL)
        is_allowed = has_target(&self.targets, 0)
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
