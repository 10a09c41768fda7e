"""Unions: the targets of all sets that hold none but common tags, made once for every mask of them.

The h commonest tags are numbered 0 to h - 1, so what a message has of them is a mask of h bits. For each
mask the targets of all sets within it are stored, sorted and without repetitions, so that the many
targets of common tags need not be brought together for every message.

    offsets   0          …        uint32[2^h + 1]
    targets   │ t t t - - │ t …   uint32[…]; behind each list stand PAD numbers above all targets

When a list is first used it is checked, and its *places* are made: how many of its targets lie below
each multiple of 2^shift. They say where a target belongs in the list without searching.

Of 15,400 targets of a message among a million, 13,100 are in the list and 2,300 are merged into it. To
set and read a bit for each of the 15,400 took twice as long as that; to merge all their lists two by
two, without branches and in four places at once, also.
"""

from libc.stdint cimport uint32_t

cdef enum:
    PAD = 16

cdef struct Union:
    const uint32_t *targets
    uint32_t count
    uint32_t shift
    uint32_t *places       # NULL: not made yet

cdef class Unions:
    cdef const uint32_t *offsets
    cdef const uint32_t *targets
    cdef uint32_t target_count
    cdef uint32_t total
    cdef Union *lists
    cdef readonly uint32_t tags
    cdef const Union *prepared(self, uint32_t mask) except NULL
    cdef int _check(self, uint32_t mask) except -1
    cdef int _make_places(self, Union *list) except -1

cdef uint32_t merged(const Union *wide, const uint32_t *few, uint32_t count, uint32_t *out) noexcept nogil
