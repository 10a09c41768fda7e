"""The prefixes, suffixes and substrings that a text has, among those of a table.

    prefixes, suffixes, substrings   pools of texts; a hit is a test and the number of a constant: test << 32 | number

If the constants of a table are few, the hits of each are listed when the table is opened: a message whose values are
constants is not searched.

    hit_offsets   0           2    2 …    uint32[constants + 1]
    hits          │ ^=7 *=12  │    │ …
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from cbnet._kernels.constant_pool cimport Pool

cdef struct Hits:
    uint64_t *items
    uint32_t count
    uint32_t room

cdef struct Patterns:
    Pool prefixes
    Pool suffixes
    Pool substrings
    const uint8_t *substring_filter
    uint32_t *hit_offsets      # NULL: the constants are many
    Hits hits                  # of the constants

cdef int open_patterns(Patterns *patterns, const Pool *strings, dict arrays) except -1
cdef void close_patterns(Patterns *patterns) noexcept
cdef bint find_patterns(const Patterns *patterns, const char *text, uint32_t length, uint32_t tests, Hits *hits) noexcept nogil
