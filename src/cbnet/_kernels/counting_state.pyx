"""Working memory of matching with the counting index. See `counting_state.pxd`."""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from cbnet._kernels.binding_search cimport close_search, open_search
from cbnet._kernels.counting_postings cimport find_one
from cbnet._kernels.counting_view cimport View
from cbnet._kernels.message_encoding cimport Batch
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.target_set cimport close_targets, open_targets


cdef void *_zeros(Py_ssize_t count, size_t size) except NULL:
    cdef void *room = PyMem_RawCalloc(count + 1, size)
    if room == NULL:
        raise MemoryError
    return room


cdef int reserve(State *state, Batch batch, Py_ssize_t first, Py_ssize_t end) except -1:
    """Make room for the attributes of any of some messages."""
    cdef Py_ssize_t widest = 0
    cdef Py_ssize_t row
    for row in range(first, end):
        widest = max(widest, batch.offsets[row + 1] - batch.offsets[row])
    if widest > state.leaf_room or state.leaves.places == NULL:
        PyMem_RawFree(state.leaves.places)
        state.leaves.places = NULL
        state.leaves.places = <uint32_t *> _zeros(2 * (widest + 16), sizeof(uint32_t))
        state.leaf_room = widest + 16
        state.leaves.following = state.leaves.places + state.leaf_room
    return 0


cdef int open_state(State *state, const View *view, Symbols symbols, uint32_t targets) except -1:
    memset(state, 0, sizeof(State))
    state.view = view
    state.leaves.symbols = &symbols.table
    state.leaves.message_symbol = view.message_symbol
    open_search(&state.bindings)
    state.search.find = find_one
    state.search.owner = state
    try:
        open_targets(&state.targets, targets)
        state.ignored = <uint64_t *> _zeros(view.selectivity.words, sizeof(uint64_t))
        state.counters = <uint8_t *> _zeros(view.filters, sizeof(uint8_t))
        state.large_rests = <uint32_t *> _zeros(view.large_count, sizeof(uint32_t))
        state.leaves.slots = <uint32_t *> _zeros(view.symbols, sizeof(uint32_t))
        state.stamps = <uint32_t *> _zeros(view.constraint_count, sizeof(uint32_t))
        state.search.seen = <uint32_t *> _zeros(view.tries.entry_count, sizeof(uint32_t))
    except MemoryError:
        close_state(state)
        raise
    memcpy(state.counters, view.sizes, view.filters)
    memcpy(state.large_rests, view.large_rests, view.large_count * sizeof(uint32_t))
    return 0


cdef void close_state(State *state) noexcept:
    close_targets(&state.targets)
    PyMem_RawFree(state.ignored)
    PyMem_RawFree(state.counters)
    PyMem_RawFree(state.large_rests)
    PyMem_RawFree(state.leaves.slots)
    PyMem_RawFree(state.leaves.places)
    PyMem_RawFree(state.stamps)
    close_search(&state.bindings)
    PyMem_RawFree(state.search.seen)
    memset(state, 0, sizeof(State))
