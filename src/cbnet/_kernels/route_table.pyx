"""Routes of packets along trees: the branches of a tree that a packet may be sent to.

    came from   side, tree    branches: link, side, sources
    link 2      7F…, 0        link 3, 1C…, {north}    link -1 (down), 22…, {east}
    own         0, 1          link 2, 5B…, all        link 3, 1C…, {north}

Python is asked once for each route, and clears all routes when versions, links or streams have changed.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree

from cbnet._kernels.slot_table cimport is_set_of_sources, words_of

cdef enum:
    MAX_ROUTES = 1 << 14


cdef inline uint32_t _bucket(int32_t came_from, uint64_t side, uint32_t tree) noexcept nogil:
    cdef uint64_t key = (side ^ (<uint64_t> <uint32_t> came_from << 32) ^ tree) * <uint64_t> 0x9E3779B97F4A7C15ULL
    return key >> 56


cdef class RouteTable:
    """The routes of one router, as far as Python was asked."""

    def __init__(self, describe, dict places not None):
        self.describe = describe
        self.places = places

    def __dealloc__(self):
        self._clear()

    def clear(self):
        """Ask for all routes again."""
        self._clear()

    cdef void _clear(self) noexcept:
        cdef Route *route
        cdef uint32_t bucket, branch
        for bucket in range(ROUTE_BUCKETS if self.count else 0):
            while self.buckets[bucket] != NULL:
                route = self.buckets[bucket]
                self.buckets[bucket] = route.next
                for branch in range(route.count):
                    PyMem_RawFree(route.branches[branch].sources)
                PyMem_RawFree(route.branches)
                PyMem_RawFree(route)
        self.count = 0

    cdef Route *find(self, int32_t came_from, int64_t link, uint64_t side, uint32_t tree) except? NULL:
        """Return a route; NULL if Python must handle the packet. came_from: place of the link with number `link`."""
        cdef Route *route = self.buckets[_bucket(came_from, side, tree)]
        while route != NULL and not (route.came_from == came_from and route.side == side and route.tree == tree):
            route = route.next
        if route == NULL:
            branches = self.describe(link, side, tree)
            if branches is not None and all(sources is None or is_set_of_sources(sources) for _, _, sources in branches):
                route = self._add(came_from, side, tree, branches)
        return route

    cdef Route *_add(self, int32_t came_from, uint64_t side, uint32_t tree, list branches) except NULL:
        cdef Route *route
        cdef uint32_t bucket = _bucket(came_from, side, tree)
        cdef Py_ssize_t count = len(branches)
        if self.count >= MAX_ROUTES:
            self._clear()
        route = <Route *> PyMem_RawCalloc(1, sizeof(Route))
        if route == NULL:
            raise MemoryError
        route.came_from, route.side, route.tree = came_from, side, tree
        route.next = self.buckets[bucket]
        self.buckets[bucket] = route
        self.count += 1
        route.branches = <RouteBranch *> PyMem_RawCalloc(count + 1, sizeof(RouteBranch))
        if route.branches == NULL:
            raise MemoryError
        for link, next_side, sources in branches:
            self._set_branch(route.branches + route.count, link, next_side, sources)
            route.count += 1
        return route

    cdef int _set_branch(self, RouteBranch *branch, object link, object side, object sources) except -1:
        branch.link = self.places.get(link, -1)
        branch.side = side
        branch.sources = NULL if sources is None else words_of(sources)
        return 0
