"""The links of a router in the fast path, at small places that are reused.

    place   number   role      buffer   further
    0       17       client    …        the tree of its messages; what it may publish
    1       3        router    …        queues of packets without credit; a batch of those that it has not confirmed
    2       –                           free
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.string cimport memset

from cbnet._kernels.link_buffer cimport LinkBuffer
from cbnet._kernels.packet_queues cimport PacketQueues
from cbnet._kernels.right_matcher cimport RightMatcher


cdef void *resized(void *memory, size_t size) except NULL:
    """Return memory with another size."""
    cdef void *larger = PyMem_RawRealloc(memory, size)
    if larger == NULL:
        raise MemoryError
    return larger


cdef class LinkPlaces:
    """The links of one router."""

    def __init__(self):
        self.places, self.kept, self.free_places = {}, {}, []

    def __dealloc__(self):
        PyMem_RawFree(self.at)
        PyMem_RawFree(self.touched)

    def open(self, int64_t number, LinkBuffer buffer not None, PacketQueues queues=None):
        """Add a link: what goes to it is written to a buffer; packets without credit to queues."""
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
        link.buffer, link.number = <PyObject *> buffer, number
        link.queues = NULL if queues is None else <PyObject *> queues
        self.places[number], self.kept[place] = place, (buffer, queues)

    def admit_client(self, int64_t number, uint32_t max_length, int32_t tree, RightMatcher right):
        """Handle the messages of a client from now on; tree: of its messages, -1: by their number."""
        cdef FastLink *link = self._admitted(number, CLIENT_ROLE, max_length, right)
        if link != NULL:
            link.tree = tree
            link.right = NULL if right is None else <PyObject *> right

    def admit_router(self, int64_t number, uint32_t max_length, LinkBuffer batch not None):
        """Handle the packets of a neighbour from now on; batch: for copies of the packets that are sent to it."""
        cdef FastLink *link = self._admitted(number, ROUTER_ROLE, max_length, batch)
        if link != NULL:
            link.batch = <PyObject *> batch
            if link.queues != NULL:
                (<PacketQueues> link.queues).open()

    cdef FastLink *_admitted(self, int64_t number, uint8_t role, uint32_t max_length, kept) except? NULL:
        cdef uint32_t place
        if number not in self.places:
            return NULL
        place = self.places[number]
        self.kept[place] = (*self.kept[place][:2], kept)  # another one may have been kept before
        self.at[place].role, self.at[place].max_length = role, max_length
        return self.at + place

    cdef int64_t remove(self, int64_t number) except? -1:
        """Remove a link; return its place, which may be reused when nothing refers to it, or -1."""
        cdef uint32_t place, i, kept = 0
        if number not in self.places:
            return -1
        place = self.places.pop(number)
        self.at[place].buffer = self.at[place].queues = self.at[place].batch = self.at[place].right = NULL
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
