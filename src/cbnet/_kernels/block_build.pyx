"""Building the block index: the loops over every constraint and every filter. `block_view.pxd` draws the arrays."""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from cbnet._kernels.block_view cimport *
from cbnet._kernels.memory cimport zeroed
from cbnet._kernels.pivot_view cimport is_equality
from cbnet._kernels.test_codes cimport *
from cpython.mem cimport PyMem_RawFree

cdef enum:
    MAX_WORDS = 64      # a filter with more is in no block
    FREE_COLUMNS = 2    # of each block, beside those that its words pay for

cdef double _FALSE_MARKS = 0.1  # of the marks that no constraint has, those that a message has by chance


def choose_intervals(const uint64_t[::1] words, const float[::1] costs, const int64_t[::1] offsets,
                     const int64_t[::1] rows, const float[::1] presence, double scale, uint32_t[::1] keys,
                     uint32_t[::1] lows, uint32_t[::1] highs, float[::1] chances, float[::1] passing, float[::1] filed):
    """Write the pivot of each row as an interval, and what it costs to read the row.

    presence: how often a message has a value of a name and type, in the unit of costs: float32[2 · names].
    scale: turns that unit into a probability.
    chances: how often the pivot holds; infinite if the row can be in no block.
    passing: how many of those that read it pass the cells of the other intervals.
    filed: the same cost under its cheapest word: how often that holds (first row), and then its mark: float32[2 · rows].
    """
    cdef Interval intervals[MAX_WORDS]
    cdef Py_ssize_t i
    cdef int64_t first, count
    cdef uint32_t total, n, best
    cdef double chance, least, others
    cdef float found[MAX_WORDS]
    with nogil:
        for i in range(rows.shape[0]):
            first = offsets[rows[i]]
            count = offsets[rows[i] + 1] - first
            chances[i] = INFINITY
            keys[i] = lows[i] = highs[i] = 0
            passing[i] = 1
            _file_cost(words, costs, first, count, presence, scale, &filed[2 * i])
            if count > MAX_WORDS:
                continue
            total = intervals_of(&words[first], <uint32_t> count, intervals)
            _chances_of(words, costs, first, count, presence, intervals, total, found)
            best = total
            for n in range(total):
                if intervals[n].low > intervals[n].high:
                    best = total
                    break
                if best == total or found[n] < found[best]:
                    best = n
            if best == total:
                continue
            keys[i], lows[i], highs[i] = intervals[best].key, intervals[best].low, intervals[best].high
            chances[i] = found[best]
            others = 1
            for n in range(total):
                if n != best:
                    others *= min(1.0, scale * found[n] + 2.0 / CELLS)
            passing[i] = <float> others


cdef void _chances_of(const uint64_t[::1] words, const float[::1] costs, int64_t first, int64_t count,
                      const float[::1] presence, const Interval *intervals, uint32_t total, float *chances) noexcept nogil:
    """Write how often each interval holds: what neither bound excludes of the values of its name and type."""
    cdef uint32_t test, key
    cdef uint32_t n = 0
    cdef int64_t at
    cdef float all
    for n in range(total):
        chances[n] = presence[intervals[n].key]
    n = 0
    for at in range(first, first + count):
        test = (words[at] >> 32) & 63
        if test < NUMBER_EQ or test > STRING_GE:
            continue
        key = (<uint32_t> (words[at] >> 38) << 1) + (test >= STRING_EQ)
        while intervals[n].key != key:
            n += 1
        all = presence[key]
        if test == NUMBER_EQ or test == STRING_EQ:
            chances[n] = min(chances[n], costs[at])
        else:
            chances[n] = max(chances[n] - (all - costs[at]), all * <float> 1e-6)


cdef void _file_cost(const uint64_t[::1] words, const float[::1] costs, int64_t first, int64_t count,
                     const float[::1] presence, double scale, float *cost) noexcept nogil:
    """Write how often the cheapest word of a row holds, and how often a message has the mark of the others."""
    cdef int64_t at, best = first
    cdef int64_t second = -1
    cdef uint32_t name
    cdef double share
    for at in range(first + 1, first + count):
        if costs[at] < costs[best]:
            best = at
    for at in range(first, first + count):
        if at != best and (second < 0 or (is_equality(words[at]) and not is_equality(words[second])) or (
                is_equality(words[at]) == is_equality(words[second]) and costs[at] < costs[second])):
            second = at
    cost[0] = costs[best]
    if is_equality(words[second]):
        share = costs[second]
    else:
        name = <uint32_t> (words[second] >> 38)
        share = presence[2 * name] + presence[2 * name + 1] if 2 * name + 1 < presence.shape[0] else costs[second]
    cost[1] = <float> min(1.0, scale * share + _FALSE_MARKS)


def middles_of(const uint32_t[::1] bounds, const uint32_t[::1] dimensions, const uint32_t[::1] lows,
               const uint32_t[::1] highs, uint32_t[::1] middles):
    """Write the middles of intervals: uint32[n]."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(lows.shape[0]):
            middles[i] = middle_of(&bounds[dimensions[i] * (CELLS - 1)], lows[i], highs[i])


cdef struct Candidate:      # for a column
    float score
    uint32_t key


cdef int _compare(const void *one, const void *other) noexcept nogil:
    cdef float a = (<const Candidate *> one).score
    cdef float b = (<const Candidate *> other).score
    return (a < b) - (a > b)


def choose_columns(const uint64_t[::1] words, const float[::1] costs, const int64_t[::1] offsets,
                   const int64_t[::1] rows, const float[::1] presence, double scale, const uint32_t[::1] entries,
                   double share, double most, uint32_t[::1] columns, uint32_t[::1] firsts):
    """Write the keys of the columns of each block, the most selective first; return how many there are.

    rows: in the order of the blocks. entries, firsts: offsets of each block's rows and columns, uint32[blocks + 1].
    share: the least part of a block's filters that must constrain a dimension. most: columns per word of a block.
    columns: uint32, large enough.
    """
    cdef Py_ssize_t keys = presence.shape[0]
    cdef uint32_t *counts = <uint32_t *> zeroed(keys + 1, sizeof(uint32_t))
    cdef float *scores = <float *> zeroed(keys + 1, sizeof(float))
    cdef Candidate *candidates = <Candidate *> zeroed(keys + 1, sizeof(Candidate))
    cdef Interval intervals[MAX_WORDS]
    cdef float chances[MAX_WORDS]
    cdef uint32_t block, total, n, i, key, chosen
    cdef uint32_t touched
    cdef uint32_t used = 0
    cdef int64_t total_words
    cdef int64_t first, count
    with nogil:
        for block in range(entries.shape[0] - 1):
            touched = 0
            total_words = 0
            for i in range(entries[block], entries[block + 1]):
                first = offsets[rows[i]]
                count = offsets[rows[i] + 1] - first
                total_words += count
                total = intervals_of(&words[first], <uint32_t> count, intervals)
                _chances_of(words, costs, first, count, presence, intervals, total, chances)
                for n in range(total):
                    key = intervals[n].key
                    if counts[key] == 0:
                        candidates[touched].key = key
                        touched += 1
                    counts[key] += 1
                    scores[key] += <float> (1 - min(1.0, scale * chances[n]))
            chosen = 0
            for n in range(touched):
                key = candidates[n].key
                if counts[key] >= share * (entries[block + 1] - entries[block]):
                    candidates[chosen].key, candidates[chosen].score = key, scores[key]
                    chosen += 1
                counts[key] = 0
                scores[key] = 0
            qsort(candidates, chosen, sizeof(Candidate), _compare)
            chosen = min(chosen, <uint32_t> (total_words * most) + FREE_COLUMNS)
            for n in range(chosen):
                columns[used + n] = candidates[n].key
            firsts[block] = used
            used += chosen
        firsts[entries.shape[0] - 1] = used
    PyMem_RawFree(counts)
    PyMem_RawFree(scores)
    PyMem_RawFree(candidates)
    return used


def fill_rows(const uint64_t[::1] words, const int64_t[::1] offsets, const int64_t[::1] rows,
              const uint32_t[::1] dimension_of, const uint32_t[::1] bounds, const uint32_t[::1] entries,
              const uint32_t[::1] columns, const uint32_t[::1] firsts, uint64_t[::1] bits):
    """Write the rows of all columns: uint64[columns · 33 · 8]."""
    cdef Interval intervals[MAX_WORDS]
    cdef uint32_t block, i, n, total, column, dimension
    cdef int64_t first
    cdef uint32_t dimensions = <uint32_t> (bounds.shape[0] // (CELLS - 1))
    cdef uint32_t *column_of = <uint32_t *> zeroed(dimensions + 1, sizeof(uint32_t))  # and 1; 0: none
    with nogil:
        for block in range(entries.shape[0] - 1):
            for column in range(firsts[block], firsts[block + 1]):
                column_of[columns[column]] = column + 1
                _fill_column(&bits[<uint64_t> column * ROWS * ROW_WORDS], entries[block + 1] - entries[block])
            for i in range(entries[block], entries[block + 1]):
                first = offsets[rows[i]]
                total = intervals_of(&words[first], <uint32_t> (offsets[rows[i] + 1] - first), intervals)
                for n in range(total):
                    dimension = dimension_of[intervals[n].key]
                    if dimension != NONE and column_of[dimension]:
                        column = column_of[dimension] - 1
                        _clear(&bits[<uint64_t> column * ROWS * ROW_WORDS], i - entries[block],
                               &bounds[dimension * (CELLS - 1)], intervals + n)
            for column in range(firsts[block], firsts[block + 1]):
                column_of[columns[column]] = 0
    PyMem_RawFree(column_of)


cdef void _fill_column(uint64_t *bits, uint32_t count) noexcept nogil:
    """Set the bits of the first filters in all rows of a column."""
    cdef uint32_t row, w
    cdef uint64_t word
    for w in range(ROW_WORDS):
        word = 0
        if count >= 64 * (w + 1):
            word = ~<uint64_t> 0
        elif count > 64 * w:
            word = ((<uint64_t> 1) << (count - 64 * w)) - 1
        for row in range(ROWS):
            bits[row * ROW_WORDS + w] = word


cdef void _clear(uint64_t *bits, uint32_t filter, const uint32_t *bounds, const Interval *interval) noexcept nogil:
    """Clear the bit of a filter in the rows of the cells outside an interval, and in that of messages without a value."""
    cdef uint32_t low = cell_of(bounds, interval.low)
    cdef uint32_t high = cell_of(bounds, interval.high)
    cdef uint64_t mask = ~((<uint64_t> 1) << (filter & 63))
    cdef uint32_t row
    bits += filter >> 6
    for row in range(low):
        bits[row * ROW_WORDS] &= mask
    for row in range(high + 1, ROWS):
        bits[row * ROW_WORDS] &= mask
