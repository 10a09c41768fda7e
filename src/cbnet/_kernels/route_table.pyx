"""The links of a router in the fast path, and the routes of packets over them.

Links have small places that are reused:

    place   number   role      output   further
    0       17       client    …        the tree of its messages; what it may publish
    1       3        router    …        a batch of the packets that it has not confirmed
    2       –                           free

A route has the branches of a tree that a packet may be sent to:

    came from   side, tree    branches: link, side, sources
    link 2      7F…, 0        link 3, 1C…, {north}    link -1 (down), 22…, {east}
    own         0, 1          link 2, 5B…, all        link 3, 1C…, {north}

Python is asked once for each route, and clears all routes when versions, links or streams have changed.
"""

from cpython.mem cimport PyMem_RawFree
from libc.string cimport memset

from cbnet._kernels.frame_matching cimport RightMatcher
from cbnet._kernels.link_output cimport FrameBuffer, LinkOutput
from cbnet._kernels.memory cimport resized, zeroed
from cbnet._kernels.slot_table cimport is_set_of_sources, words_of

cdef enum:
    MAX_ROUTES = 1 << 14


cdef class LinkPlaces:
    """The links of one router."""

    def __init__(self):
        self.places, self.kept, self.free_places = {}, {}, []

    def __dealloc__(self):
        PyMem_RawFree(self.at)
        PyMem_RawFree(self.touched)

    def open(self, int64_t number, LinkOutput output not None):
        """Add a link, with its sending side."""
        cdef uint32_t place
        cdef FastLink *link
        if self.free_places:
            place = self.free_places.pop()
        else:
            place = self.count
            if place == self.room:
                self.room = 2 * self.room + 16
                self.at = <FastLink *> resized(self.at, self.room * sizeof(FastLink))
                self.touched = <uint32_t *> resized(self.touched, self.room * sizeof(uint32_t))
            self.count += 1
        link = self.at + place
        memset(link, 0, sizeof(FastLink))
        link.output, link.number = <PyObject *> output, number
        self.places[number], self.kept[place] = place, (output, None)

    def admit_client(self, int64_t number, uint32_t max_length, int32_t tree, RightMatcher right):
        """Handle the messages of a client from now on; tree: of its messages, -1: by their number."""
        cdef FastLink *link = self._admitted(number, CLIENT_ROLE, max_length, right)
        if link != NULL:
            link.tree = tree
            link.right = NULL if right is None else <PyObject *> right

    def admit_router(self, int64_t number, uint32_t max_length, FrameBuffer batch not None):
        """Handle the packets of a neighbour from now on; batch: for copies of the packets that are sent to it."""
        cdef FastLink *link = self._admitted(number, ROUTER_ROLE, max_length, batch)
        if link != NULL:
            link.batch = <PyObject *> batch
            (<LinkOutput> link.output).open_queues()

    cdef FastLink *_admitted(self, int64_t number, uint8_t role, uint32_t max_length, kept) except? NULL:
        cdef uint32_t place
        if number not in self.places:
            return NULL
        place = self.places[number]
        self.kept[place] = self.kept[place][0], kept  # another one may have been kept before
        self.at[place].role, self.at[place].max_length = role, max_length
        return self.at + place

    cdef int64_t remove(self, int64_t number) except? -1:
        """Remove a link; return its place, which may be reused when nothing refers to it, or -1."""
        cdef uint32_t place, i, kept = 0
        if number not in self.places:
            return -1
        place = self.places.pop(number)
        self.at[place].output = self.at[place].batch = self.at[place].right = NULL
        del self.kept[place]
        for i in range(self.touched_count):
            if self.touched[i] != place:
                self.touched[kept] = self.touched[i]
                kept += 1
        self.touched_count = kept
        return place

    def take_touched(self):
        """Return the links whose buffers got frames since the last call."""
        cdef uint32_t i
        touched = [self.at[self.touched[i]].number for i in range(self.touched_count)]
        for i in range(self.touched_count):
            self.at[self.touched[i]].is_touched = False
        self.touched_count = 0
        return touched

    cdef void touch(self, uint32_t place) noexcept:
        """Note that the buffer of a link got a frame."""
        if not self.at[place].is_touched:
            self.at[place].is_touched = True
            self.touched[self.touched_count] = place
            self.touched_count += 1


cdef inline uint32_t _bucket(int32_t came_from, uint64_t side, uint32_t tree) noexcept nogil:
    cdef uint64_t key = (side ^ (<uint64_t> <uint32_t> came_from << 32) ^ tree) * <uint64_t> 0x9E3779B97F4A7C15ULL
    return key >> 56


cdef class RouteTable:
    """The routes of one router, as far as Python was asked."""

    def __init__(self, describe, dict places not None):
        self.describe = describe
        self.places = places

    def __dealloc__(self):
        self.clear()

    cpdef void clear(self) noexcept:
        """Ask for all routes again."""
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
        cdef RouteBranch *branch
        cdef uint32_t bucket = _bucket(came_from, side, tree)
        cdef Py_ssize_t count = len(branches)
        if self.count >= MAX_ROUTES:
            self.clear()
        route = <Route *> zeroed(1, sizeof(Route))
        route.came_from, route.side, route.tree = came_from, side, tree
        route.next = self.buckets[bucket]
        self.buckets[bucket] = route
        self.count += 1
        route.branches = <RouteBranch *> zeroed(count + 1, sizeof(RouteBranch))
        for link, next_side, sources in branches:
            branch = route.branches + route.count
            branch.link, branch.side = self.places.get(link, -1), next_side
            branch.sources = NULL if sources is None else words_of(sources)
            route.count += 1
        return route
