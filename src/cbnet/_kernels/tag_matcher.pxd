"""The common part of the tag matchers: from tags to owners, and from owners to targets."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from cbnet._kernels.dict_encoding cimport DictEncoder
from cbnet._kernels.message_encoding cimport Attribute
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.target_set cimport Found, TargetSet
from cbnet._kernels.tag_owners cimport Groups, Owners
from cbnet._kernels.tag_unions cimport Union, Unions

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
    cdef int _make_room(self, uint64_t bound) except -1
