"""Working memory of matching with the pivot index. See `pivot_state.pxd`."""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport uint32_t

from cbnet._kernels.binding_search cimport close_search, has_several_values, open_search
from cbnet._kernels.message_encoding cimport Attribute, Batch
from cbnet._kernels.pivot_view cimport View
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.target_set cimport TargetSet


cdef void set_message(State *state, Batch batch, Py_ssize_t number) noexcept nogil:
    """Take a message of a batch; there is room for its attributes."""
    state.count = <uint32_t> (batch.offsets[number + 1] - batch.offsets[number])
    state.leaves.attributes = batch.attributes + batch.offsets[number]
    state.leaves.elements = batch.elements
    state.has_several = batch.is_nested[number] and has_several_values(&state.leaves, state.count)


cdef void set_single(State *state, const Attribute *attributes, uint32_t count) noexcept nogil:
    """Take a message of single values; there is room for them."""
    state.count = count
    state.leaves.attributes = attributes
    state.leaves.elements = NULL
    state.has_several = False


cdef int open_state(State *state, const View *view, Symbols symbols, TargetSet *targets) except -1:
    """Prepare a state, which is all zeros; it adds to a set of targets."""
    state.targets = targets
    state.leaves.symbols = &symbols.table
    state.leaves.message_symbol = view.message_symbol
    open_search(&state.search)
    state.leaves.slots = <uint32_t *> PyMem_RawCalloc(<size_t> view.symbols + 1, sizeof(uint32_t))
    if state.leaves.slots == NULL:
        raise MemoryError
    return 0


cdef void close_state(State *state) noexcept:
    close_search(&state.search)
    PyMem_RawFree(state.word)
    PyMem_RawFree(state.visit)
    PyMem_RawFree(state.hits.items)
    PyMem_RawFree(state.leaves.slots)
    PyMem_RawFree(state.leaves.places)


cdef bint reserve(State *state, Py_ssize_t count) noexcept nogil:
    """Make room for the attributes of a message; return False if out of memory."""
    if <Py_ssize_t> state.leaf_room < count:
        PyMem_RawFree(state.leaves.places)
        state.leaf_room = 0
        state.leaves.places = <uint32_t *> PyMem_RawCalloc(2 * (count + 16), sizeof(uint32_t))
        if state.leaves.places == NULL:
            return False
        state.leaves.following = state.leaves.places + count + 16
        state.leaf_room = <uint32_t> count + 16
    return True


cdef void abandon(const View *view, State *state) noexcept nogil:
    """Forget the message of a state, if it has one."""
    cdef uint32_t i
    if view.message_symbol < view.names:
        state.leaves.slots[view.message_symbol] = 0
    for i in range(state.count):
        if state.leaves.attributes[i].symbol < view.symbols:
            state.leaves.slots[state.leaves.attributes[i].symbol] = 0
    state.count = state.words = state.visits = 0
