"""The arrays of a block index, and the intervals of a filter; `block_view.pxd` draws them."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from cbnet._kernels.arrays cimport pointer
from cbnet._kernels.test_codes cimport *


cdef int open_blocks(Blocks *blocks, dict arrays, uint32_t names) except -1:
    """Set pointers to the arrays of a table; raise ValueError if they do not fit together."""
    cdef Py_ssize_t count = len(arrays["block_lows"])
    cdef Py_ssize_t dimensions = len(arrays["block_firsts"]) - 1
    cdef Py_ssize_t columns = len(arrays["block_columns"])
    blocks.count, blocks.column_count = <uint32_t> count, <uint32_t> columns
    blocks.firsts = <const uint32_t *> pointer(arrays, "block_firsts", 4, 1)
    blocks.dimensions = <uint32_t> dimensions
    blocks.dimension_of = <const uint32_t *> pointer(arrays, "block_dimension_of", 4, 2 * names if count else 0)
    blocks.bounds = <const uint32_t *> pointer(arrays, "block_bounds", 4, (CELLS - 1) * dimensions)
    blocks.lows = <const uint32_t *> pointer(arrays, "block_lows", 4, 0)
    blocks.highs = <const uint32_t *> pointer(arrays, "block_highs", 4, count)
    blocks.blocks = <const Block *> pointer(arrays, "blocks", sizeof(Block), count + 1)
    blocks.columns = <const uint32_t *> pointer(arrays, "block_columns", 4, 0)
    blocks.rows = <const uint64_t *> pointer(arrays, "block_rows", 8, columns * ROWS * ROW_WORDS)
    return 0


cdef uint32_t intervals_of(const uint64_t *words, uint32_t count, Interval *intervals) noexcept nogil:
    """Write the intervals of the ordered words of a filter; return how many. An impossible one has low > high.

    `!=` counts as an interval without ends: it requires a value of its type.
    """
    cdef uint32_t i, test, key, value
    cdef uint32_t used = 0
    cdef Interval *interval = NULL
    for i in range(count):
        test = (words[i] >> 32) & 63
        if test < NUMBER_EQ or test > STRING_GE:
            continue
        key = <uint32_t> (words[i] >> 38) << 1
        if test >= STRING_EQ:
            test -= STRING_EQ - NUMBER_EQ
            key += 1
        if interval == NULL or interval.key != key:
            interval = intervals + used
            interval.key, interval.low, interval.high = key, 0, 0xFFFFFFFF
            used += 1
        value = 2 * <uint32_t> words[i] + 1
        if test == NUMBER_EQ or test >= NUMBER_GT:
            interval.low = max(interval.low, value + (test == NUMBER_GT))
        if test == NUMBER_EQ or test == NUMBER_LT or test == NUMBER_LE:
            interval.high = min(interval.high, value - (test == NUMBER_LT))
    return used


cdef void survivors_like(const Blocks *blocks, uint32_t block, const Interval *intervals, uint32_t count,
                         uint64_t *survivors) noexcept nogil:
    """Write the bits of those filters of a block that may have these intervals."""
    cdef uint32_t column, dimension, i, w, low, high
    cdef const uint32_t *bounds
    memset(survivors, 0xFF, ROW_WORDS * sizeof(uint64_t))
    for column in range(min(blocks.blocks[block].columns, column_end(blocks, block)), column_end(blocks, block)):
        dimension = blocks.columns[column]
        low = high = ABSENT
        for i in range(count if dimension < blocks.dimensions else 0):
            if dimension_of(blocks, intervals[i].key) == dimension:
                bounds = blocks.bounds + dimension * (CELLS - 1)
                low, high = cell_of(bounds, intervals[i].low), cell_of(bounds, intervals[i].high)
        for w in range(ROW_WORDS):
            survivors[w] &= row_of(blocks, column, low)[w] & row_of(blocks, column, high)[w]
            if low != ABSENT:
                survivors[w] &= ~row_of(blocks, column, ABSENT)[w]
