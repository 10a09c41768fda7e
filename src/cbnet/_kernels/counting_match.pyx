"""Matching with the counting index: every constraint that holds counts for its filters [2002 §4].

`counting_postings.pxd` draws the arrays.
"""

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport INT64_MAX, int64_t, uint32_t, uint64_t

from cbnet._kernels.arrays cimport empty, owned
from cbnet._kernels.binding_search cimport MAX_EXAMINED, enter_leaves, has_several_values, leave_leaves, take_undecided
from cbnet._kernels.constant_pool cimport number_place, rank_steps
from cbnet._kernels.counting_postings cimport *
from cbnet._kernels.counting_strings cimport STRING_GE, STRING_LT, STRING_NE, Entry, search_trie
from cbnet._kernels.dict_encoding cimport DictEncoder
from cbnet._kernels.message_encoding cimport BOOL, NUMBER, STRING, TAG, Attribute, Batch
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.target_set cimport Found, take_targets
from cbnet._kernels.word_test cimport Leaves, close_constants

from cbnet.errors import UndecidedError


# --- The left side: from a value to constraints -------------------------------------------------

cdef uint32_t _first_not_below(State *state, const Branch *branch, uint32_t operand) noexcept nogil:
    """Return the first constraint of a branch whose operand is not below this one."""
    cdef const View *view = state.view
    cdef uint32_t first = branch.first
    cdef uint32_t end = min(branch.end, view.operand_count)
    cdef uint32_t half
    while first < end:
        half = first + ((end - first) >> 1)
        state.work.comparisons += 1
        if view.operands[half] < operand:
            first = half + 1
        else:
            end = half
    return first


cdef void _find_numbers(State *state, const Branch *branch, uint32_t place) noexcept nogil:
    """Find the constraints of a branch that hold for a number, or bool, of a doubled rank.

    own, next: the first operands not below the value and above it; the same if it is not among them.
    """
    cdef uint32_t own = place >> 1
    cdef uint32_t next = (place + 1) >> 1
    cdef uint32_t first
    if branch.kind == NUMBER_LT:
        find_range(state, _first_not_below(state, branch, next), branch.end)
    elif branch.kind == NUMBER_LE:
        find_range(state, _first_not_below(state, branch, own), branch.end)
    elif branch.kind == NUMBER_GT:
        find_range(state, branch.first, _first_not_below(state, branch, own))
    elif branch.kind == NUMBER_GE:
        find_range(state, branch.first, _first_not_below(state, branch, next))
    elif branch.kind == NUMBER_NE:
        first = _first_not_below(state, branch, own)
        find_range(state, branch.first, first)
        find_range(state, first + _has_operand(state.view, branch, first, place), branch.end)
    elif own != next:
        first = _first_not_below(state, branch, own)
        find_range(state, first, first + _has_operand(state.view, branch, first, place))


cdef inline bint _has_operand(const View *view, const Branch *branch, uint32_t constraint, uint32_t place) noexcept nogil:
    return constraint < min(branch.end, view.operand_count) and 2 * view.operands[constraint] + 1 == place


cdef void _follow_chain(State *state, const Branch *branch) noexcept nogil:
    """Find the constraints of a chain that hold, from the last search's nearest entry on."""
    cdef const View *view = state.view
    cdef uint32_t link = branch.end  # the value is above all
    cdef uint32_t own = 0
    cdef const Entry *entry
    if state.search.nearest < view.tries.entry_count:
        entry = view.tries.entries + state.search.nearest
        own = entry.tests if state.search.is_equal else 0
        link = entry.up if branch.kind == UP else entry.down if branch.kind == DOWN else entry.unequal
        link = max(branch.first, min(link, branch.end))
    if branch.kind == UP:
        find_range(state, link + ((own & STRING_LT) != 0), branch.end)
    elif branch.kind == DOWN:
        find_range(state, branch.first, link + ((own & STRING_GE) != 0))
    elif own & STRING_NE:
        find_range(state, branch.first, link)
        find_range(state, link + 1, branch.end)
    else:
        find_range(state, branch.first, branch.end)


# --- One message --------------------------------------------------------------------------------

cdef void _find_constraints(State *state, const Attribute *attribute) noexcept nogil:
    """Find the constraints that an attribute satisfies: by name, then type and operator, then value."""
    cdef const View *view = state.view
    cdef uint32_t end = min(view.symbol_branches[attribute.symbol + 1], view.branch_count)
    cdef uint32_t place = 0
    cdef bint has_place = False
    cdef const Branch *branch
    cdef uint32_t i, kind
    for i in range(view.symbol_branches[attribute.symbol], end):
        branch = view.branches + i
        kind = branch.kind
        if kind == IS_TAG or kind == EXISTS:
            if (attribute.kind == TAG) == (kind == IS_TAG):
                find_range(state, branch.first, branch.end)
        elif kind == BOOL_EQ:
            if attribute.kind == BOOL:
                _find_numbers(state, branch, 3 if attribute.high else 1)
        elif kind <= NUMBER_GE:
            if attribute.kind == NUMBER:
                if not has_place:
                    place = number_place(&view.constants.numbers, attribute.high, attribute.low)
                    state.work.rank_steps += rank_steps(&view.constants.numbers, attribute.high)
                    has_place = True
                _find_numbers(state, branch, place)
        elif attribute.kind == STRING:
            if kind == TRIE:
                search_trie(&view.tries, &state.search, branch.root, branch.tests, attribute.text, attribute.length)
            else:
                _follow_chain(state, branch)


cdef uint32_t _enter(State *state, Batch batch, Py_ssize_t message) noexcept nogil:
    """Record the attributes of a message of a batch; return their number."""
    cdef const View *view = state.view
    cdef Leaves *leaves = &state.leaves
    cdef uint32_t count = <uint32_t> (batch.offsets[message + 1] - batch.offsets[message])
    cdef uint32_t i, symbol
    leaves.attributes = batch.attributes + batch.offsets[message]
    leaves.elements = batch.elements
    state.has_several = batch.is_nested[message] and has_several_values(leaves, count)
    state.is_verified = state.has_several or view.uncounted != NULL
    state.stamp += state.has_several
    if state.is_verified:
        enter_leaves(&view.constants, leaves, count)
    else:
        for i in range(count):
            symbol = leaves.attributes[i].symbol
            if symbol < view.symbols and leaves.slots[symbol] == 0:  # else a repeated tag
                leaves.slots[symbol] = i + 1
    if view.message_symbol < view.symbols:
        leaves.slots[view.message_symbol] = 1
    return count


cdef uint64_t _exclude(State *state, uint32_t rounds) noexcept nogil:
    """Ignore interfaces by the selectivity table; return how many remain."""
    cdef const View *view = state.view
    cdef uint64_t ones = exclude(&view.selectivity, state.leaves.slots, view.symbols, rounds, state.ignored)
    state.work.excluded += ones - view.selectivity.silent_ones
    return 64 * <uint64_t> view.selectivity.words - ones


cdef void _match_loose(State *state) noexcept nogil:
    """Check the filters that no constraint counts for."""
    cdef const View *view = state.view
    cdef uint32_t i, filter, target
    for i in range(view.loose_count):
        filter = view.loose[i]
        if filter < view.filters and state.remaining:
            target = view.filter_targets[filter]
            if target < state.targets.total and not (state.is_checked and is_ignored(state.ignored, target)):
                complete(state, filter, target)


cdef void _match(State *state, Batch batch, Py_ssize_t message, uint32_t rounds) noexcept nogil:
    """Find the targets of one message [2002 Figure 6]."""
    cdef const View *view = state.view
    cdef uint32_t count = _enter(state, batch, message)
    cdef const Attribute *attribute
    cdef uint32_t i
    state.is_checked = state.is_short or rounds > 0
    state.remaining = _exclude(state, rounds) if state.is_checked else 1
    for i in range(view.always_count):
        if view.always[i] < state.targets.total:
            deliver(state, view.always[i])
    _match_loose(state)
    for i in range(count):
        attribute = state.leaves.attributes + i
        if state.remaining and attribute.symbol < view.symbols:
            if state.leaves.slots[attribute.symbol] == i + 1 or (state.has_several and attribute.kind != TAG):
                _find_constraints(state, attribute)
                count_found(state)
    restore(state)
    leave_leaves(&state.leaves, count)


cdef class CountingIndex:
    """The checked arrays of a counting index, and working memory."""

    cdef View view
    cdef readonly Symbols symbols
    cdef readonly uint32_t targets
    cdef object kept
    cdef State own
    cdef DictEncoder encoder

    def __init__(self, Symbols symbols, dict arrays, uint32_t targets):
        self.symbols = symbols
        self.targets = targets
        self.kept = arrays
        self.encoder = DictEncoder(symbols)
        open_view(&self.view, symbols, arrays, targets)
        open_state(&self.own, &self.view, symbols, targets)

    def __dealloc__(self):
        close_state(&self.own)
        close_constants(&self.view.constants)

    def match_members(self, message, uint32_t[::1] out, uint32_t rounds=10, bint short_circuit=True):
        """Match one message, in its JSON form or as its leaves and tags; write its targets, in order, to `out`: uint32[targets].

        Return their number, or -1 if the message is not plain and valid.
        """
        cdef Found found
        if out.shape[0] < self.targets:
            raise ValueError(f"room for {out.shape[0]} targets; there may be {self.targets}")
        if not self.encoder.encode_alone(message):
            return -1
        self.own.is_short = short_circuit
        reserve(&self.own, self.encoder.batch, 0, 1)
        _match(&self.own, self.encoder.batch, 0, rounds)
        found.targets = &out[0] if out.shape[0] else NULL
        found.used = 0
        found.room = INT64_MAX  # all fit, so `out` is never reallocated
        undecided = self.own.bindings.undecided_count and take_undecided(&self.own.bindings, &self.own.targets)
        take_targets(&self.own.targets, &found)
        if undecided:
            raise UndecidedError(undecided, [out[i] for i in range(found.used)], MAX_EXAMINED)
        if self.own.bindings.is_out_of_memory:
            self.own.bindings.is_out_of_memory = False
            raise MemoryError
        return found.used

    def match_batch(self, Batch batch, Py_ssize_t first, Py_ssize_t end, uint32_t rounds=10, bint short_circuit=True):
        """Match messages `first` to `end`; return offsets, targets, and work counters.

        Runs without the GIL: several threads may match at once.
        """
        cdef State state
        cdef Found found
        cdef Py_ssize_t row
        cdef bint ok = True
        offsets = empty("q", end - first + 1)
        cdef int64_t[::1] ends = offsets
        open_state(&state, &self.view, self.symbols, self.targets)
        state.is_short = short_circuit
        reserve(&state, batch, first, end)
        found.targets = NULL
        found.used = found.room = 0
        with nogil:
            ends[0] = 0
            for row in range(first, end):
                _match(&state, batch, row, rounds)
                if state.bindings.undecided_count:
                    with gil:
                        batch.undecided += [(row, each) for each in take_undecided(&state.bindings, &state.targets)]
                ok = take_targets(&state.targets, &found) and not state.bindings.is_out_of_memory
                if not ok:
                    break
                ends[row - first + 1] = found.used
        state.work.nodes = state.search.visited
        work = state.work
        close_state(&state)
        if not ok:
            PyMem_RawFree(found.targets)
            raise MemoryError
        return offsets, owned(found.targets, found.used), work

    def excluded_by_round(self, Batch batch, Py_ssize_t first, Py_ssize_t end, uint32_t rounds):
        """Return the number of interfaces that each round newly excludes: int64[rounds].

        Summed over the messages `first` to `end`.
        """
        cdef State state
        cdef Py_ssize_t message
        cdef uint32_t count, i
        cdef int64_t before = 0
        added = empty("q", rounds)
        cdef int64_t[::1] out = added
        open_state(&state, &self.view, self.symbols, self.targets)
        reserve(&state, batch, first, end)
        with nogil:
            for i in range(rounds):
                state.work.excluded = 0
                for message in range(first, end):
                    count = _enter(&state, batch, message)
                    _exclude(&state, i + 1)
                    leave_leaves(&state.leaves, count)
                out[i] = state.work.excluded - before
                before = state.work.excluded
        close_state(&state)
        return added
