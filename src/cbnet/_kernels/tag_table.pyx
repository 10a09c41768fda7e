"""Matching with the exact tag table: a message's tags lead to the sets filed under them."""

from libc.stdint cimport uint32_t

from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.tag_matcher cimport Message, TagMatcher
from cbnet._kernels.tag_owners cimport Owners
from cbnet._kernels.tag_sets cimport Sets, find_subsets, open_sets


cdef class TagIndex(TagMatcher):
    """The checked arrays of an exact tag table."""

    cdef Sets sets

    def __init__(self, Symbols symbols, dict arrays, uint32_t targets):
        open_sets(&self.sets, arrays, symbols.count)
        TagMatcher.__init__(self, symbols, arrays, targets)

    cdef bint find(self, const Message *message, uint32_t least, Owners *owners) noexcept nogil:
        return find_subsets(&self.sets, message.present, message.tags, message.count, least, owners)
