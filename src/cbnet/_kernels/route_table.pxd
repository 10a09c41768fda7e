"""Routes of packets along trees, for other kernels."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef struct RouteBranch:
    int32_t link            # place; -1: the link is down
    uint64_t side           # hash of the nodes behind it
    uint64_t *sources       # bits of the streams that tell what is wanted there; NULL: everything

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
    cdef void _clear(self) noexcept
    cdef Route *find(self, int32_t came_from, int64_t link, uint64_t side, uint32_t tree) except? NULL
    cdef Route *_add(self, int32_t came_from, uint64_t side, uint32_t tree, list branches) except NULL
    cdef int _set_branch(self, RouteBranch *branch, object link, object side, object sources) except -1
