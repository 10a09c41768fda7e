"""The selectivity table: interfaces that a message cannot match, by the names that it lacks."""

from libc.stdint cimport uint32_t, uint64_t

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

cdef uint64_t count_ones(const uint64_t *words, uint32_t count) noexcept nogil
cdef uint64_t exclude(const Selectivity *table, const uint32_t *slots, uint32_t symbols, uint32_t rounds,
                      uint64_t *ignored) noexcept nogil
