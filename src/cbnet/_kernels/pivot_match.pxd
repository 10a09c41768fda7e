"""Matching with the pivot index, from attributes to targets. `pivot_view.pxd` draws the arrays.

Lookups are queued first and read a little later, when the cache has fetched them. Several messages take each step
together, so that there is something to do meanwhile:

    attributes ──► places   ──► word    buckets to look up  ──► visit   postings queued ──► tests   ──► targets
                   fetched              slots are fetched               fetched             fetched
    └──────────────────────────── begin_matching ─────────────────────────────────────────────────┘  finish_matching

In a message with several values of an attribute, or with arrays of objects, every value is looked up, and an
entry is checked as a whole by `binding_search`: one value must pass the pivot and all other words of its symbol. A
bucket or list that several values lead to is visited once, so a long array costs no more than its length.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from cbnet._kernels.binding_search cimport BindingSearch
from cbnet._kernels.message_encoding cimport Attribute, Batch
from cbnet._kernels.pivot_view cimport Postings, View
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.target_set cimport TargetSet
from cbnet._kernels.text_patterns cimport Hits
from cbnet._kernels.word_test cimport Leaves

cdef enum:
    MESSAGES_AT_ONCE = 8

cdef struct Visit:
    const Postings *postings
    uint32_t single, single_end, entry, entry_end
    uint64_t first_single       # offset of these postings among the bits of `removed`
    uint64_t first_entry
    uint64_t pivot              # its word; of listed postings the number of the list

cdef struct State:              # of one message
    TargetSet *targets
    uint64_t *word              # buckets to look up
    uint32_t words, word_room
    Visit *visit                # postings queued
    uint32_t visits, visit_room
    Leaves leaves
    uint32_t count              # of attributes
    uint32_t leaf_room
    bint has_several            # values of one attribute, or elements
    BindingSearch search
    Hits hits                   # of a string that is not a constant
    uint64_t mask
    uint64_t[4] marks           # bits
    int64_t touched
    uint8_t *cells              # per dimension of blocks: the cell of its value, or ABSENT
    uint64_t *cell_sets         # per dimension: the cells of its values, as bits, if it has one
    uint32_t *least             # per dimension: the values, if it has one
    uint32_t *most
    uint32_t *found             # entries of blocks that the message satisfies
    uint32_t found_count, found_room
    uint64_t *seen              # per target, if these are few: whether it was found in a block
    uint32_t seen_targets

cdef int open_state(State *state, const View *view, Symbols symbols, TargetSet *targets) except -1
cdef void close_state(State *state) noexcept
cdef void set_message(State *state, Batch batch, Py_ssize_t number) noexcept nogil
cdef void set_single(State *state, const Attribute *attributes, uint32_t count) noexcept nogil
cdef void abandon(State *state) noexcept nogil

cdef void enter_messages(const View *view, State *states, uint32_t count) noexcept nogil
cdef void begin_matching(const View *view, State *states, uint32_t count) noexcept nogil
cdef void finish_matching(const View *view, State *state) noexcept nogil
