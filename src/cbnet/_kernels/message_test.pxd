"""The test of a word on a message of single values: inlined by the kernels that test entries."""

from libc.stdint cimport uint32_t, uint64_t

from cbnet._kernels.binding_search cimport BindingSearch, condition_decided
from cbnet._kernels.pivot_view cimport View
from cbnet._kernels.test_codes cimport *
from cbnet._kernels.word_test cimport Leaves, passes

cdef inline bint holds(const View *view, Leaves *leaves, BindingSearch *search, uint64_t word) noexcept nogil:
    """Return whether a message of single values passes the test of a word."""
    cdef uint32_t symbol = <uint32_t> (word >> 38)
    cdef uint32_t test = (word >> 32) & 63
    cdef uint32_t slot
    if symbol >= view.symbols:
        return False
    slot = leaves.slots[symbol]
    if slot == 0:
        return False
    if test == IS_TAG:
        return True
    if symbol == view.message_symbol:  # not an attribute of the message
        return test == EXISTS or (
            test == CONDITION and condition_decided(&view.constants, leaves, search, <uint32_t> word))
    return passes(&view.constants, leaves.attributes + slot - 1, leaves.places[slot - 1], test, <uint32_t> word)
