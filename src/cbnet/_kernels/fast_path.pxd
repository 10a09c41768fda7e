"""The data plane of a router in a kernel."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from cbnet._kernels.frame_message cimport FrameMessage
from cbnet._kernels.frame_matching cimport LiveMatcher
from cbnet._kernels.duplicate_detector cimport DuplicateDetector
from cbnet._kernels.pivot_match cimport MESSAGES_AT_ONCE
from cbnet._kernels.plain_frame cimport PacketHead, PlainFrame
from cbnet._kernels.route_table cimport FastLink, LinkPlaces, Route, RouteTable
from cbnet._kernels.slot_table cimport SOURCE_WORDS, SlotTable

cdef enum:  # events that are counted
    PUBLISHED_COUNT
    MATCHED_COUNT
    DELIVERED_COUNT
    INITIAL_COUNT
    RECEIVED_COUNT
    SENT_COUNT
    UNPRUNED_COUNT
    DUPLICATE_COUNT
    COUNTS

cdef class FastPath:
    cdef readonly DuplicateDetector duplicates
    cdef readonly LinkPlaces links
    cdef readonly SlotTable slots
    cdef readonly RouteTable routes
    cdef readonly LiveMatcher matcher
    cdef public uint64_t number         # of the last own message
    cdef bytes name, source             # of the router; as MessagePack
    cdef uint64_t incarnation
    cdef uint32_t trees
    cdef public bint has_full_batch     # whether packets for a neighbour are to be confirmed
    cdef bint feeds_long_queue          # whether a message went to a long queue
    cdef uint32_t *reached              # links of one message; at most as many as slots
    cdef uint32_t reached_count
    cdef int32_t *chain                 # per slot found: the next one of the same link; -1: none
    cdef size_t chain_room              # of both
    cdef uint64_t[SOURCE_WORDS] sources     # of one message
    cdef bint is_initial                 # whether a message matches the loaded predicate
    cdef uint64_t stamp                 # number of the message
    cdef int64_t[COUNTS] counts
    cdef PlainFrame[MESSAGES_AT_ONCE] frames    # that are read ahead
    cdef FrameMessage[MESSAGES_AT_ONCE] messages    # of these frames
    cdef const FrameMessage *message    # that is being handled
    cdef uint64_t work                  # messages and deliveries
    cdef int _read_ahead(
        self, uint32_t place, const uint8_t *at, const uint8_t *stop, uint32_t most, int *outcome
    ) except -1
    cdef int _publish(self, uint32_t place, uint32_t number) except -1
    cdef int _packet(self, uint32_t place, uint32_t number) except -1
    cdef int _gather(self, uint32_t number) except -1
    cdef bint _is_sendable(self, const Route *route) noexcept
    cdef int _deliver(self, const PacketHead *head) except -1
    cdef int _deliver_to(self, uint32_t place, const PacketHead *head) except -1
    cdef int _send(self, const Route *route, const PacketHead *head) except -1
    cdef int _answer(self, uint32_t place, uint64_t number) except -1
    cdef int _copy(self, const FastLink *link, const uint8_t *frame, size_t length) except -1
