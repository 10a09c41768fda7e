"""Matching with the pivot index, from attributes to targets. `pivot_view.pxd` draws the arrays.

Lookups are queued first and read a little later, when the cache has fetched them:

    attributes ──► word    buckets to look up     ──► visit   postings queued      ──► targets
                   their slots are fetched            their postings are fetched
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from cbnet._kernels.message_encoding cimport Attribute
from cbnet._kernels.pivot_view cimport Postings, View
from cbnet._kernels.target_set cimport TargetSet

cdef enum:
    WORD_ROOM = 128
    VISIT_ROOM = 128

cdef struct Visit:
    const Postings *postings
    uint32_t single, single_end, entry, entry_end
    uint64_t first_single       # offset of these postings among the bits of `removed`
    uint64_t first_entry

cdef struct State:
    TargetSet targets
    uint64_t word[WORD_ROOM]    # buckets to look up
    uint32_t words
    Visit visit[VISIT_ROOM]     # postings queued
    uint32_t visits
    uint32_t *slots             # per symbol: index + 1 in the message; 0: absent
    uint32_t *places            # per attribute of the message: the doubled rank of its value
    uint32_t place_room
    uint64_t mask
    const Attribute *attributes
    int64_t touched

cdef int open_state(State *state, const View *view, uint32_t targets) except -1
cdef void close_state(State *state) noexcept
cdef int reserve(State *state, Py_ssize_t count) except -1
cdef void match_attributes(const View *view, State *state, const Attribute *attributes, uint32_t count) noexcept nogil
