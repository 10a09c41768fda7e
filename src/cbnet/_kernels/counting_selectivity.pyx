"""The selectivity table, applied to a message [2002 §4.3]; it is drawn in `engines.selectivity_table`.

Invariant: every index read from an array is checked against the length of the array that it refers to.
"""

from libc.string cimport memcpy

cdef extern from *:
    """
    #define PAIRS 0x5555555555555555ULL
    #define FOURS 0x3333333333333333ULL
    #define BYTES 0x0F0F0F0F0F0F0F0FULL
    #define HALVES 0x00FF00FF00FF00FFULL
    #define SUM 0x0001000100010001ULL
    """
    const uint64_t PAIRS
    const uint64_t FOURS
    const uint64_t BYTES
    const uint64_t HALVES
    const uint64_t SUM

cdef enum:
    BLOCK = 512  # words combined at a time: 4 kB stay in the L1 cache
    SUMMED = 16  # words whose set bits are summed in eight bytes without overflow


cdef uint64_t count_ones(const uint64_t *words, uint32_t count) noexcept nogil:
    """Return the number of set bits."""
    cdef uint64_t ones = 0
    cdef uint64_t word, sums
    cdef uint32_t at = 0
    cdef uint32_t i, end
    while at < count:
        end = min(at + SUMMED, count)
        sums = 0
        for i in range(at, end):
            word = words[i] - ((words[i] >> 1) & PAIRS)
            word = (word & FOURS) + ((word >> 2) & FOURS)
            sums += (word + (word >> 4)) & BYTES
        ones += (((sums & HALVES) + ((sums >> 8) & HALVES)) * SUM) >> 48
        at = end
    return ones


cdef inline void _join(uint64_t *into, const uint64_t *other, uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        into[i] |= other[i]


cdef uint64_t _join_listed(const Selectivity *table, uint32_t row, uint64_t *ignored) noexcept nogil:
    """Ignore the interfaces of a sparse row; return how many are newly ignored."""
    cdef uint64_t added = 0
    cdef uint64_t bit
    cdef uint32_t at, target
    for at in range(table.sparse_offsets[row], min(table.sparse_offsets[row + 1], table.sparse_count)):
        target = table.sparse[at]
        if target < table.targets:
            bit = (<uint64_t> 1) << (target & 63)
            added += (ignored[target >> 6] & bit) == 0
            ignored[target >> 6] |= bit
    return added


cdef uint64_t exclude(const Selectivity *table, const uint32_t *slots, uint32_t symbols, uint32_t rounds,
                      uint64_t *ignored) noexcept nogil:
    """Write the interfaces to ignore: those of the first `rounds` determinants that have no slot.

    ignored: uint64[words]. Return the number of its set bits; the silent ones are always set.
    """
    cdef uint64_t ones = 0
    cdef uint32_t block = 0
    cdef uint32_t count, row
    rounds = min(rounds, table.rows)
    if rounds == 0:
        memcpy(ignored, table.silent, table.words * sizeof(uint64_t))
        return table.silent_ones
    while block < table.words:
        count = min(<uint32_t> BLOCK, table.words - block)
        memcpy(ignored + block, table.silent + block, count * sizeof(uint64_t))
        for row in range(min(rounds, table.dense_rows)):
            if _lacks(table, row, slots, symbols):
                _join(ignored + block, table.dense + <size_t> row * table.words + block, count)
        ones += count_ones(ignored + block, count)
        block += count
    for row in range(table.dense_rows, rounds):
        if _lacks(table, row, slots, symbols):
            ones += _join_listed(table, row - table.dense_rows, ignored)
    return ones


cdef inline bint _lacks(const Selectivity *table, uint32_t row, const uint32_t *slots, uint32_t symbols) noexcept nogil:
    return table.determinants[row] >= symbols or slots[table.determinants[row]] == 0
