"""Opening unions, and merging them with a message's other targets; `tag_unions.pxd` draws them."""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.string cimport memcpy

from cbnet._kernels.arrays cimport pointer

cdef enum:
    STEP = 4        # targets compared at once
    PER_PLACE = 1   # targets from one place to the next, on average


cdef class Unions:
    """The lists of a table, each checked when it is first used."""

    def __cinit__(self):
        self.lists = NULL
        self.tags = 0

    def __init__(self, dict arrays, uint32_t total):
        cdef Py_ssize_t lists = len(arrays["union_offsets"]) - 1
        while (<Py_ssize_t> 1 << self.tags) < lists:
            self.tags += 1
        if lists < 1 or lists & (lists - 1):
            raise ValueError("the section union_offsets does not fit the others")
        self.offsets = <const uint32_t *> pointer(arrays, "union_offsets", 4, 2)
        self.targets = <const uint32_t *> pointer(arrays, "union_targets", 4, 0)
        self.target_count = <uint32_t> len(arrays["union_targets"])
        self.total = total
        self.lists = <Union *> PyMem_RawCalloc(lists, sizeof(Union))
        if self.lists == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef uint32_t mask
        if self.lists != NULL:
            for mask in range(<uint32_t> 1 << self.tags):
                PyMem_RawFree(self.lists[mask].places)
        PyMem_RawFree(self.lists)

    cdef const Union *prepared(self, uint32_t mask) except NULL:
        """Return the list of a mask, with its places; an empty one if the file is damaged."""
        cdef Union *list = &self.lists[mask]
        if list.places == NULL:
            self._check(mask)
            self._make_places(list)
        return list

    cdef int _check(self, uint32_t mask) except -1:
        """Set a pointer to a list if it lies inside the file, ascends, and has known targets only."""
        cdef Union *list = &self.lists[mask]
        cdef uint32_t first = self.offsets[mask], end = self.offsets[mask + 1]
        cdef uint32_t at
        list.targets = self.targets
        list.count = 0
        if end > self.target_count or end < PAD or first > end - PAD:
            return 0
        end -= PAD
        if end > first and self.targets[end - 1] >= self.total:
            return 0
        for at in range(first + 1, end):
            if self.targets[at] <= self.targets[at - 1]:
                return 0
        list.targets = self.targets + first
        list.count = end - first
        return 0

    cdef int _make_places(self, Union *list) except -1:
        cdef uint32_t place, places
        cdef uint32_t at = 0
        list.shift = 0
        while self.total >> list.shift > list.count // PER_PLACE:
            list.shift += 1
        places = (self.total >> list.shift) + 1
        list.places = <uint32_t *> PyMem_RawCalloc(places, sizeof(uint32_t))
        if list.places == NULL:
            raise MemoryError
        for place in range(places):
            while at < list.count and list.targets[at] >> list.shift < place:
                at += 1
            list.places[place] = at
        return 0


cdef inline uint32_t _rank(const Union *wide, uint32_t target) noexcept nogil:
    """Return how many of the list's targets lie below a target, which is below the total."""
    cdef uint32_t rank = wide.places[target >> wide.shift]
    cdef const int *targets
    cdef int below = STEP
    cdef int i
    while below == STEP and rank < wide.count:
        targets = <const int *> wide.targets + rank
        below = 0
        for i in range(STEP):  # no branch: the position of the target among these is practically random
            below += targets[i] < <int> target
        rank += below
    return min(rank, wide.count)


cdef uint32_t merged(const Union *wide, const uint32_t *few, uint32_t count, uint32_t *out) noexcept nogil:
    """Write the targets of a list and `few` others, sorted; return how many there are.

    out: room for all of them and PAD more. few: sorted, without repetitions.
    """
    cdef uint32_t i, rank
    cdef uint32_t done = 0
    cdef uint32_t *start = out
    for i in range(count):
        rank = _rank(wide, few[i])
        # PAD targets at a time, although mostly fewer are needed: the surplus is overwritten
        memcpy(out, wide.targets + done, PAD * sizeof(uint32_t))
        if rank - done > PAD:
            memcpy(out, wide.targets + done, (rank - done) * sizeof(uint32_t))
        out += rank - done
        done = rank
        out[0] = few[i]
        out += rank == wide.count or wide.targets[rank] != few[i]
    memcpy(out, wide.targets + done, (wide.count - done) * sizeof(uint32_t))
    return <uint32_t> (out - start) + wide.count - done
