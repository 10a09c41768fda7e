"""Working memory of matching with the counting index. `counting_view.pxd` draws the arrays that it reads."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from cbnet._kernels.binding_search cimport BindingSearch
from cbnet._kernels.counting_strings cimport Search
from cbnet._kernels.counting_view cimport View
from cbnet._kernels.message_encoding cimport Batch
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.target_set cimport TargetSet
from cbnet._kernels.word_test cimport Leaves

cdef enum:
    RUN_ROOM = 1024

cdef struct Run:
    uint32_t first
    uint32_t end

cdef struct Work:
    int64_t constraints         # that hold
    int64_t postings            # visited
    int64_t counters            # decremented: of filters whose interface is not ignored
    int64_t excluded            # interfaces, by the selectivity table
    int64_t nodes               # of tries, visited; a byte of a tail counts as one
    int64_t comparisons         # with operands
    int64_t rank_steps          # of the searches for the rank of a number among all constants of the table

cdef struct State:
    const View *view
    TargetSet targets
    bint is_short               # ignore matched interfaces, and stop when none is left
    bint is_checked             # some interfaces may be ignored
    uint64_t *ignored           # a bit per interface: matched or excluded
    uint64_t remaining          # interfaces that are not ignored
    uint8_t *counters
    uint32_t *large_rests
    bint has_refilled           # a counter from large_rests
    Run run[RUN_ROOM]           # of postings: first the counted ones, then those only found
    uint32_t counted
    uint32_t found
    bint has_more               # than RUN_ROOM runs were counted
    int64_t touched             # postings, by this message
    Leaves leaves
    Py_ssize_t leaf_room
    bint has_several            # values of one attribute, or elements
    bint is_verified            # some filters are checked as a whole
    uint32_t *stamps            # per constraint: the last message with several values that satisfied it
    uint32_t stamp
    BindingSearch bindings
    Search search               # of the last trie
    Work work

cdef int open_state(State *state, const View *view, Symbols symbols, uint32_t targets) except -1
cdef void close_state(State *state) noexcept
cdef int reserve(State *state, Batch batch, Py_ssize_t first, Py_ssize_t end) except -1
