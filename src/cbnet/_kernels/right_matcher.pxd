"""Publish rights of a client, checked for messages in frames. See `network.security.rights`."""

from libc.stdint cimport uint64_t

from cbnet._kernels.frame_message cimport FrameMessage
from cbnet._kernels.pivot_table cimport PivotIndex
from cbnet._kernels.target_set cimport TargetSet

cdef class RightMatcher:
    cdef PivotIndex index           # of the right, its target is 0; None: any message matches
    cdef TargetSet targets
    cdef uint64_t max_characters
    # Return whether the client may publish a message; if not, Python explains why.
    cdef bint allows(self, const FrameMessage *message) except -1
