"""The counting index: every constraint that holds counts for its filters [2002 §4].

Left side, from a value to the constraints that it satisfies. A symbol (name or tag) has branches, one
per type and operator, each with a range of constraints sorted by their constants:

    symbol_branches  0              3     4 …     uint32[symbols + 1]
    branches         │ < │ > │ trie │ tag │ …     kind; first and end: constraints (of a trie: entries)
    operands         │ 5 20 350 │ 0 3 50 200 │ …  uint32: ranks of numbers, for the first kinds

The value 10 satisfies `<` from 20 on and `>` up to 3. The nodes and entries of the tries of strings are
drawn in `engines.constraint_index`, the selectivity table in `engines.counting`.

Right side, from constraints to filters and interfaces:

    posting_offsets  0     2   3 …                uint32[constraints + 1]
    posting_filters  │ f g │ f │ …                uint32: the filters that contain each constraint
    posting_targets  │ I J │ I │ …                uint32: the interface of each filter
    sizes            f: 2  g: 255 …               uint8[filters]; at 255 the rest is in large_rests
    counters         f: 2  g: 255 …               a copy; each constraint that holds subtracts 1; at 0 all hold

Selected constraints are adjacent, so a message reads a few runs of postings. They are recorded:
afterwards their counters are restored one by one, or all are copied if that is less work.

A filter also has words that are not counted: tests for null, `in` and conditions. When the others are counted, it
is checked as a whole by `binding_search`; so is every filter if the message has several values of an attribute. Filters
without a counted word are *loose*, and checked always.

    filter_offsets   0     3   4 …                uint32[filters + 1]
    filter_words     │ w w w │ w │ …              uint64: all words of each filter
    filter_targets   I     J …                    uint32[filters]
    uncounted        0     1 …                    uint8[filters]: it has a word that is not counted; or empty
    loose            g h …                        uint32: filters

Invariant: every index read from an array is checked against the length of the array that it refers to,
and walks only go forward, so a damaged file can give wrong answers but no read outside it.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from cbnet._kernels.binding_search cimport BindingSearch
from cbnet._kernels.counting_strings cimport Search, Tries
from cbnet._kernels.message_encoding cimport Batch
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.target_set cimport TargetSet
from cbnet._kernels.word_test cimport Constants, Leaves

cdef struct Selectivity:
    uint32_t targets
    uint32_t words              # of silent and of each dense row: a bit per target
    const uint64_t *silent
    uint64_t silent_ones        # number of its set bits
    const uint32_t *determinants
    uint32_t rows
    const uint64_t *dense
    uint32_t dense_rows
    const uint32_t *sparse_offsets
    const uint32_t *sparse
    uint32_t sparse_count

cdef uint64_t exclude(const Selectivity *table, const uint32_t *slots, uint32_t symbols, uint32_t rounds,
                      uint64_t *ignored) noexcept nogil

cdef enum Kind:
    BOOL_EQ, NUMBER_EQ, NUMBER_NE, NUMBER_LT, NUMBER_LE, NUMBER_GT, NUMBER_GE
    EXISTS, IS_TAG, TRIE, UP, DOWN, UNEQUAL

cdef struct Branch:
    uint16_t kind
    uint16_t tests
    uint32_t first
    uint32_t end
    uint32_t root

cdef struct View:
    uint32_t symbols
    const uint32_t *symbol_branches
    const Branch *branches
    uint32_t branch_count
    uint32_t message_symbol     # of "#"; or the number of symbols
    Constants constants
    const uint32_t *operands
    uint32_t operand_count
    Tries tries
    const uint32_t *posting_offsets
    uint32_t constraint_count
    const uint32_t *posting_filters
    const uint32_t *posting_targets
    uint32_t posting_count
    const uint8_t *sizes
    uint32_t filters
    const uint32_t *large_filters
    const uint32_t *large_rests
    uint32_t large_count
    const uint32_t *always
    uint32_t always_count
    const uint32_t *filter_offsets
    const uint64_t *filter_words
    uint32_t filter_word_count
    const uint32_t *filter_targets
    const uint8_t *uncounted    # or NULL
    const uint32_t *loose
    uint32_t loose_count
    Selectivity selectivity

cdef int open_view(View *view, Symbols symbols, dict arrays, uint32_t targets) except -1

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
    uint32_t leaf_room
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

cdef void find_range(State *state, uint32_t first, uint32_t end) noexcept nogil
cdef void count_found(State *state) noexcept nogil
cdef void complete(State *state, uint32_t filter, uint32_t target) noexcept nogil
cdef void deliver(State *state, uint32_t target) noexcept nogil
cdef void restore(State *state) noexcept nogil

cdef inline bint is_ignored(const uint64_t *ignored, uint32_t target) noexcept nogil:
    return (ignored[target >> 6] >> (target & 63)) & 1
