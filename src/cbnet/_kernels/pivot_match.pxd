"""The pivot index, matched: which targets does a message reach? `pivot_view.pxd` draws the arrays.

What a message asks for is collected first, and looked at a little later, when it has been fetched:

    attributes ──► word    buckets asked for      ──► visit   postings found       ──► targets
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
    uint64_t first_single       # where these postings begin among the bits of `removed`
    uint64_t first_entry

cdef struct State:
    TargetSet targets
    uint64_t word[WORD_ROOM]    # buckets asked for
    uint32_t words
    Visit visit[VISIT_ROOM]     # postings found
    uint32_t visits
    uint32_t *slots             # per symbol: place + 1 in the message; 0: absent
    uint32_t *places            # per attribute of the message: the doubled place of its value
    uint32_t place_room
    uint64_t mask
    const Attribute *attributes
    int64_t touched

cdef int open_state(State *state, const View *view, uint32_t targets) except -1
cdef void close_state(State *state) noexcept
cdef int reserve(State *state, Py_ssize_t count) except -1
cdef void match_attributes(const View *view, State *state, const Attribute *attributes, uint32_t count) noexcept nogil
