"""Matching of messages by their tags, with the unions of common tags.

Unions are the targets of all sets of common tags only, computed once for every mask of these tags.
The h commonest tags are numbered 0 to h - 1, so a message has a mask of h bits of them. For each mask the
targets of all sets within it are stored, sorted and without repetitions, so that the many targets of
common tags need not be united for every message.

    offsets   0          …        uint32[2^h + 1]
    targets   │ t t t - - │ t …   uint32[…]; each list is followed by PAD numbers above all targets

When a list is first used it is checked, and its *places* are computed: how many of its targets lie below
each multiple of 2^shift. They give the position of a target in the list without a search.

Of 15,400 targets of a message among a million, 13,100 are in the list and 2,300 are merged into it. Setting
and reading a bit for each of the 15,400 took twice as long; so did merging all their lists pairwise, without
branches and at four positions at once.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from cbnet._kernels.dict_encoding cimport DictEncoder
from cbnet._kernels.message_encoding cimport Attribute
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.tag_sets cimport Groups, Owners
from cbnet._kernels.target_set cimport Found, TargetSet

cdef enum:
    PAD = 16

cdef struct Union:
    const uint32_t *targets
    uint32_t count
    uint32_t shift
    uint32_t *places       # NULL: not computed yet

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

cdef struct Message:
    uint32_t *tags         # each once
    uint32_t count
    uint32_t room
    uint64_t *present      # a bit per tag of the table
    uint32_t mask          # of the common tags, for the unions

cdef struct State:
    Message message
    TargetSet targets
    Found few              # targets that are not in the union

cdef class TagMatcher:
    cdef readonly Symbols symbols
    cdef readonly uint32_t targets
    cdef object kept
    cdef Groups groups
    cdef Unions unions
    cdef State own
    cdef Owners owners
    cdef Found found
    cdef DictEncoder encoder
    cdef bint find(self, const Message *message, uint32_t least, Owners *owners) noexcept nogil
    cdef bint _find(self, State *state, const Attribute *attributes, uint32_t count, uint32_t least,
                    Owners *owners) noexcept nogil
    cdef uint64_t _bound(self, const uint32_t *owners, int64_t count, const Union *union) noexcept nogil
    cdef bint _deliver(self, State *state, const uint32_t *owners, int64_t count, const Union *union,
                       Found *found) noexcept nogil
