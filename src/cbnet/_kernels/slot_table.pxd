"""Holders of the slots of a match table, for other kernels."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    SOURCE_WORDS = 64       # of a set of sources; Python handles larger ones

cdef enum HolderKind:
    UNKNOWN_HOLDER          # ask Python
    CLIENT_HOLDER           # a subscription of a client
    SOURCES_HOLDER          # a set of sources
    INITIAL_HOLDER           # the loaded predicate of the router
    PYTHON_HOLDER           # messages for it are handled in Python

cdef struct SlotHolder:
    uint64_t id             # of the subscription, as the client chose it
    uint64_t *sources       # bits
    int32_t link            # place of the client's link
    uint8_t kind

cdef class SlotTable:
    cdef SlotHolder *holders
    cdef uint32_t room
    cdef int64_t *held      # per place of a link: slots of its client that are known here
    cdef uint32_t held_room
    cdef dict places        # of links, by their numbers
    cdef object describe    # called with a slot; returns its kind; the link and id, or 0 and the bits of the sources
    cdef SlotHolder *find(self, uint32_t slot) except NULL
    cdef int64_t slots_of(self, uint32_t place) noexcept
    cdef int _fill(self, uint32_t slot) except -1
    cdef int _hold(self, uint32_t place) except -1
    cdef int _make_room(self, uint32_t slot) except -1

cdef uint64_t *words_of(object bits) except NULL    # to be freed; see `is_set_of_sources`
cdef bint is_set_of_sources(object bits) except -1
