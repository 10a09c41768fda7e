"""The counting index: every constraint that holds counts for its filters [2002 §4].

Left side, from a value to the constraints that it satisfies. A symbol (name or tag) has branches, one
per type and operator, each with a range of constraints sorted by their constants:

    symbol_branches  0              3     4 …     uint32[symbols + 1]
    branches         │ < │ > │ trie │ tag │ …     kind; first and end: constraints (of a trie: entries)
    operands         │ 5 20 350 │ 0 3 50 200 │ …  uint32: ranks of numbers, for the first kinds

The value 10 satisfies `<` from 20 on and `>` up to 3. The nodes and entries of the tries of strings are
drawn in `engines.string_index`, the selectivity table in `engines.selectivity_table`.

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

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from cbnet._kernels.counting_selectivity cimport Selectivity
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.counting_strings cimport Tries
from cbnet._kernels.word_test cimport Constants

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
