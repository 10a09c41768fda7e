"""Bindings: one value for each attribute of a filter that satisfy it together, as in `language.filter`.

    candidates  │ 4 9 │ 2 │ 5 6 7 │ …     uint32: indices of attributes of the message that pass all words of a symbol
    variables   │ a   │ b │ c     │ …     first and count of its candidates; which one is bound

Bound values must be compatible: not in different elements of one array. While conditions are tested,
`leaves.slots` refer to the bound values.

A search that would examine more candidates than its limit is given up: the filter is undecided, and the caller notes its
targets. With a credit, Python sets the limit of large searches, and learns what they examined.

The steps of regular expressions are bounded in the same way: `work` of them for each message at no cost, then what the
credit allows.
"""

from cpython.object cimport PyObject

from libc.stdint cimport int64_t, uint32_t, uint64_t

from cbnet._kernels.tag_sets cimport Groups
from cbnet._kernels.target_set cimport TargetSet
from cbnet._kernels.word_test cimport Constants, Leaves

cdef enum:
    MAX_EXAMINED = 100000  # candidates per filter and message, as in `language.filter`
    FREE_STEPS = 200000    # of patterns, for a message: they take about a millisecond

cdef struct Variable:
    uint32_t symbol
    uint32_t slot           # of the symbol, before the search
    uint32_t first          # of its candidates
    uint32_t count
    uint32_t bound          # index of its bound candidate

cdef struct BindingSearch:
    Variable *variables
    uint32_t variable_count, variable_room
    uint32_t *candidates
    uint32_t candidate_count, candidate_room
    bint is_out_of_memory   # an answer was False because of it
    bint is_undecided       # an answer was False because the search was given up
    uint32_t *undecided     # targets of filters that were given up, for the present message
    uint32_t undecided_count, undecided_room
    uint32_t owner          # of the present filter: its targets, as in `tag_sets`
    const Groups *groups    # of owners; NULL: each is a target
    int64_t free            # candidates that the large searches for the present message may still examine at no cost
    int64_t work            # steps of patterns that the present message may still take at no cost
    PyObject *credit        # borrowed; NULL: MAX_EXAMINED for each search, and `work` for each message

cdef void open_search(BindingSearch *search) noexcept nogil
cdef void close_search(BindingSearch *search) noexcept nogil
cdef bint condition_decided(const Constants *constants, Leaves *leaves, BindingSearch *search, uint32_t number) noexcept nogil
cdef bint binding_exists(const Constants *constants, Leaves *leaves, BindingSearch *search, const uint64_t *pivot,
                         const uint64_t *words, uint32_t count) noexcept nogil
cdef void note_undecided(BindingSearch *search) noexcept nogil
cdef list take_undecided(BindingSearch *search, const TargetSet *targets)
cdef bint has_several_values(Leaves *leaves, uint32_t count) noexcept nogil
cdef bint reserve_leaves(Leaves *leaves, uint32_t *room, Py_ssize_t count) noexcept nogil
cdef void leave_leaves(Leaves *leaves, uint32_t count) noexcept nogil
cdef void enter_leaves(const Constants *constants, Leaves *leaves, uint32_t count) noexcept nogil
