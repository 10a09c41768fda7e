"""The block index: filters with ranges, in blocks of at most 512, with a bit per filter for each cell of an attribute.

A *dimension* is an attribute name with one type, number or string; its values are doubled ranks (see
`matching.storage.codes`), so both types are treated alike. All constraints of a filter on a dimension together are one
*interval*. The narrowest interval of a filter is its pivot. Filters are sorted by the dimension of their pivots, its
width class and its middle, and cut into blocks, so that the pivots of a block lie close together:

    dimension_of  │ 0 - │ 1 2 │ - - │ …    uint32[2 · names]: the dimensions of a name, numbers and strings; or NONE
    firsts        0     3     3     5 …    uint32[dimensions + 1]: the blocks whose pivots lie in each dimension
    lows, highs   │ 10 20 41 │ │ 7 9 │ …   uint32 per block: the lowest and the highest value of its pivots

A message reads the blocks that have one of its values between low and high. A dimension is divided into 32 cells with
about as many ends of intervals each. A block has a *column* for each dimension that enough of its filters constrain,
and a column has a row of 512 bits for each cell, and one for messages without a value in this dimension:

    bounds        │ 31 values │ 31 values │ …        uint32: the first value of each cell but the first
    columns       │ 0 2 7 │ 2 0 │ …                  uint32: the dimension of each column, the most selective first
    rows          │ 33 rows │ 33 rows │ …            uint64[8] per row
                        bit i is 0 if filter i of the block surely fails for the values of the cell

    row of cell 3     … 1 0 0 1 1   AND
    row of cell 17    … 0 1 0 1 1   AND …  =  … 0 0 0 1 1: the entries 0 and 1 of the block are tested exactly

    blocks        middles of the first and the last pivot, offsets of its entries and of its columns; and one more block

An entry of a block is one of the pivot index, but all words of the filter are its tests, and it has no mark.

Invariant: a filter that a message satisfies has its bit in every row of the message's cells, and if the message has several
values in a dimension, in one of their rows. Every index that is read from an array is checked before it is used.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    CELLS = 32
    ABSENT = CELLS          # the row of messages without a value
    ROWS = CELLS + 1
    ROW_WORDS = 8
    BLOCK_FILTERS = 64 * ROW_WORDS

cdef extern from *:
    """
    #define NONE 0xFFFFFFFFU
    """
    const uint32_t NONE

cdef struct Block:
    uint32_t middle, last_middle
    uint32_t entries
    uint32_t columns

cdef struct Interval:       # of a filter in a dimension
    uint32_t key            # 2 · name, plus 1 for strings
    uint32_t low, high

cdef struct Blocks:
    const uint32_t *dimension_of
    const uint32_t *firsts
    uint32_t dimensions
    const uint32_t *bounds
    const uint32_t *lows
    const uint32_t *highs
    const Block *blocks
    uint32_t count
    const uint32_t *columns
    uint32_t column_count
    const uint64_t *rows

cdef int open_blocks(Blocks *blocks, dict arrays, uint32_t names) except -1
cdef uint32_t intervals_of(const uint64_t *words, uint32_t count, Interval *intervals) noexcept nogil
cdef void survivors_like(const Blocks *blocks, uint32_t block, const Interval *intervals, uint32_t count,
                         uint64_t *survivors) noexcept nogil

cdef inline uint32_t cell_of(const uint32_t *bounds, uint32_t value) noexcept nogil:
    """Return the cell of a value: the number of bounds that are not above it."""
    cdef uint32_t first = 0
    cdef uint32_t step = CELLS // 2
    while step:
        if bounds[first + step - 1] <= value:
            first += step
        step >>= 1
    return first

cdef inline uint32_t middle_of(const uint32_t *bounds, uint32_t low, uint32_t high) noexcept nogil:
    """Return the middle of an interval; an open end counts as the last bound."""
    return (max(low, bounds[0]) >> 1) + (min(high, bounds[CELLS - 2]) >> 1)

cdef inline const uint64_t *row_of(const Blocks *blocks, uint32_t column, uint32_t cell) noexcept nogil:
    return blocks.rows + (<uint64_t> column * ROWS + cell) * ROW_WORDS

cdef inline uint32_t column_end(const Blocks *blocks, uint32_t block) noexcept nogil:
    """Return the end of the columns of a block."""
    return min(blocks.blocks[block + 1].columns, blocks.column_count)

cdef inline uint32_t dimension_of(const Blocks *blocks, uint32_t key) noexcept nogil:
    """Return the dimension of a name below the number of names, and a type; NONE if there is none."""
    cdef uint32_t dimension = blocks.dimension_of[key]
    return dimension if dimension < blocks.dimensions else NONE
