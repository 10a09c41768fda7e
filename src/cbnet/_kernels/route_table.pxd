"""The links of a router in the fast path, and routes over them, for other kernels."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:  # roles
    UNKNOWN_ROLE
    CLIENT_ROLE
    ROUTER_ROLE

cdef struct FastLink:
    PyObject *output        # a LinkOutput; NULL: the link is closed
    PyObject *batch         # a FrameBuffer for copies of the packets that are sent to a neighbour, or NULL
    PyObject *right         # a RightMatcher, of a client that may not publish everything, or NULL
    int64_t number          # of the link, in Python
    uint64_t stamp          # of the message that the next three are about
    int32_t first, last     # places, among the slots found, of the first and last for this link
    uint32_t ids            # slots for this link
    uint32_t max_length     # of a frame
    int32_t tree            # of the client's messages; -1: by their number
    uint8_t role
    bint is_touched         # whether it is in `touched`

cdef class LinkPlaces:
    cdef FastLink *at
    cdef uint32_t count, room
    cdef dict places            # by the numbers of links
    cdef dict kept              # by place: keeps the objects of a link alive
    cdef list free_places
    cdef uint32_t *touched      # places of links whose buffers got frames
    cdef uint32_t touched_count
    cdef int64_t remove(self, int64_t number) except? -1
    cdef void touch(self, uint32_t place) noexcept
    cdef FastLink *_admitted(self, int64_t number, uint8_t role, uint32_t max_length, kept) except? NULL

cdef struct RouteBranch:
    int32_t link            # place; -1: the link is down
    uint64_t side           # hash of the nodes behind it
    uint64_t *sources       # bits of the streams whose filters select messages; NULL: all messages are sent

cdef struct Route:
    Route *next             # in its bucket
    RouteBranch *branches
    uint32_t count
    int32_t came_from       # place; -1: messages of this router's own clients
    uint32_t tree
    uint64_t side

cdef enum:
    ROUTE_BUCKETS = 256
    OWN_MESSAGES = -1

cdef class RouteTable:
    cdef Route *buckets[ROUTE_BUCKETS]
    cdef uint32_t count
    cdef dict places        # of links, by their numbers
    cdef object describe    # called with link, side and tree; returns link, side and sources of branches, or None
    cpdef void clear(self) noexcept
    cdef Route *find(self, int32_t came_from, int64_t link, uint64_t side, uint32_t tree) except? NULL
    cdef Route *_add(self, int32_t came_from, uint64_t side, uint32_t tree, list branches) except NULL
