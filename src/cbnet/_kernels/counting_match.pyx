"""Matching with the counting index: every constraint that holds counts for its filters [2002 §4].

`counting_view.pxd` draws the arrays.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from cbnet._kernels.arrays cimport empty, owned
from cbnet._kernels.counting_view cimport *
from cbnet._kernels.counting_selectivity cimport count_ones, exclude
from cbnet._kernels.binding_search cimport (
    BindingSearch, binding_exists, close_search, enter_leaves, has_several_values, open_search,
)
from cbnet._kernels.dict_encoding cimport DictEncoder
from cbnet._kernels.message_encoding cimport BOOL, NUMBER, STRING, TAG, Attribute, Batch
from cbnet._kernels.symbol_table cimport Symbols
from cbnet._kernels.constant_pool cimport number_place, rank_steps
from cbnet._kernels.word_test cimport Leaves, close_constants
from cbnet._kernels.target_set cimport Found, TargetSet, add_target, close_targets, open_targets, take_targets
from cbnet._kernels.counting_strings cimport STRING_GE, STRING_LT, STRING_NE, Entry, Search, search_trie

cdef extern from * nogil:
    void __builtin_prefetch(const void *address)

cdef enum:
    LARGE = 255         # a filter of this size or more has a rest
    CHUNK = 64          # postings whose interfaces are read before any is counted
    RUN_ROOM = 1024
    COPIED = 32         # counters copied in the time of restoring one

cdef struct Run:
    uint32_t first
    uint32_t end

cdef struct Work:
    int64_t constraints         # that hold
    int64_t postings            # visited
    int64_t counters            # decremented: of filters whose interface is not ignored
    int64_t excluded            # interfaces, by the selectivity table
    int64_t nodes               # of tries, visited; a byte of a tail counts as one
    int64_t comparisons         # with operands
    int64_t rank_steps          # of the searches for the rank of a number among all constants of the table

cdef struct State:
    const View *view
    TargetSet targets
    bint is_short               # ignore matched interfaces, and stop when none is left
    bint is_checked             # some interfaces may be ignored
    uint64_t *ignored           # a bit per interface: matched or excluded
    uint64_t remaining          # interfaces that are not ignored
    uint8_t *counters
    uint32_t *large_rests
    bint has_refilled           # a counter from large_rests
    Run run[RUN_ROOM]           # of postings: first the counted ones, then those only found
    uint32_t counted
    uint32_t found
    bint has_more               # than RUN_ROOM runs were counted
    int64_t touched             # postings, by this message
    Leaves leaves
    Py_ssize_t leaf_room
    bint has_several            # values of one attribute, or elements
    bint is_verified            # some filters are checked as a whole
    uint32_t *stamps            # per constraint: the last message with several values that satisfied it
    uint32_t stamp
    BindingSearch bindings
    Search search               # of the last trie
    Work work


# --- The right side: postings, counters, interfaces --------------------------------------------

cdef bint _is_complete(State *state, uint32_t filter) noexcept nogil:
    """Return whether a counter at 0 is complete; else refill it from the rest of a large size."""
    cdef const View *view = state.view
    cdef uint32_t first = 0
    cdef uint32_t count = view.large_count
    cdef uint32_t half, more
    if view.sizes[filter] < LARGE:
        return True
    while count > 0:
        half = count >> 1
        if view.large_filters[first + half] < filter:
            first += half + 1
            count -= half + 1
        else:
            count = half
    if first >= view.large_count or state.large_rests[first] == 0:
        return True
    more = min(state.large_rests[first], <uint32_t> LARGE)
    state.large_rests[first] -= more
    state.counters[filter] = <uint8_t> more
    state.has_refilled = True
    return False


cdef inline bint _is_ignored(const uint64_t *ignored, uint32_t target) noexcept nogil:
    return (ignored[target >> 6] >> (target & 63)) & 1


cdef bint _is_satisfied(State *state, uint32_t filter) noexcept nogil:
    """Return whether a filter whose counted constraints hold is satisfied as a whole."""
    cdef const View *view = state.view
    cdef uint32_t first, end
    if not state.has_several and (view.uncounted == NULL or not view.uncounted[filter]):
        return True
    end = min(view.filter_offsets[filter + 1], view.filter_word_count)
    first = min(view.filter_offsets[filter], end)
    return binding_exists(&view.constants, &state.leaves, &state.bindings, NULL, view.filter_words + first, end - first)


cdef void _complete(State *state, uint32_t filter, uint32_t target) noexcept nogil:
    """Add the interface of a filter whose constraints are counted, if it is satisfied."""
    if not state.is_verified or _is_satisfied(state, filter):
        _deliver(state, target)


cdef void _deliver(State *state, uint32_t target) noexcept nogil:
    """Add an interface to the answer."""
    add_target(&state.targets, target)
    if state.is_short and not _is_ignored(state.ignored, target):
        state.ignored[target >> 6] |= (<uint64_t> 1) << (target & 63)
        state.remaining -= 1


cdef void _count_checked(State *state, Run *run) noexcept nogil:
    """Count a run of postings, except those of ignored interfaces.

    This is the hottest loop. Whether an interface is ignored is hard to predict, so the remaining
    postings are first collected without a branch: 530 µs became 300 with 1 million interfaces, of which
    10 rounds exclude more than half. An interface matched since then is checked again: the count is exact.
    """
    cdef const View *view = state.view
    cdef const uint32_t *filters = view.posting_filters
    cdef const uint32_t *targets = view.posting_targets
    cdef const uint64_t *ignored = state.ignored
    cdef uint8_t *counters = state.counters
    cdef uint32_t filter_count = view.filters
    cdef uint32_t target_count = state.targets.total
    cdef uint32_t left[CHUNK]
    cdef uint32_t at = run.first
    cdef uint32_t place, end, target, filter, count, i
    cdef int64_t counted = 0
    cdef bint has_matched
    while at < run.end and state.remaining:
        end = at + min(<uint32_t> CHUNK, run.end - at)
        count = 0
        for place in range(at, end):
            target = targets[place]
            if target < target_count:
                left[count] = place
                count += not _is_ignored(ignored, target)
        at = end
        has_matched = False
        for i in range(count):
            filter = filters[left[i]]
            if filter >= filter_count or (has_matched and _is_ignored(ignored, targets[left[i]])):
                continue
            counted += 1
            counters[filter] -= 1
            if counters[filter] == 0 and _is_complete(state, filter):
                _complete(state, filter, targets[left[i]])
                has_matched = state.is_short
                if state.remaining == 0:
                    at = left[i] + 1
                    break
    run.end = at
    state.work.counters += counted
    state.touched += at - run.first


cdef void _count_all(State *state, const Run *run) noexcept nogil:
    """Count a run of postings."""
    cdef const View *view = state.view
    cdef const uint32_t *filters = view.posting_filters
    cdef uint8_t *counters = state.counters
    cdef uint32_t filter_count = view.filters
    cdef uint32_t at, filter
    for at in range(run.first, run.end):
        filter = filters[at]
        if filter >= filter_count:
            continue
        counters[filter] -= 1
        if counters[filter] == 0 and _is_complete(state, filter):
            if view.posting_targets[at] < state.targets.total:
                _complete(state, filter, view.posting_targets[at])
    state.work.counters += run.end - run.first
    state.touched += run.end - run.first


cdef void _count_found(State *state) noexcept nogil:
    """Count the runs found since the last call."""
    while state.counted < state.found and state.remaining:
        if state.is_checked:
            _count_checked(state, &state.run[state.counted])
        else:
            _count_all(state, &state.run[state.counted])
        state.counted += 1


cdef void _find(State *state, uint32_t first, uint32_t end) noexcept nogil:
    """Record that a range of constraints holds; one that another value satisfied counts once."""
    cdef uint32_t constraint
    end = min(end, state.view.constraint_count)
    if not state.has_several:
        if first < end:
            _find_run(state, first, end)
        return
    for constraint in range(first, end):
        if state.stamps[constraint] != state.stamp:
            state.stamps[constraint] = state.stamp
            _find_run(state, constraint, constraint + 1)


cdef void _find_run(State *state, uint32_t first, uint32_t end) noexcept nogil:
    """Record a range of constraints, not empty, and prefetch its postings."""
    cdef const View *view = state.view
    cdef Run *run
    if state.found == RUN_ROOM:
        _count_found(state)
        state.counted = state.found = 0
        state.has_more = True
    run = &state.run[state.found]
    run.end = min(view.posting_offsets[end], view.posting_count)
    run.first = min(view.posting_offsets[first], run.end)
    __builtin_prefetch(view.posting_filters + run.first)
    __builtin_prefetch(view.posting_targets + run.first)
    state.found += 1
    state.work.constraints += end - first


cdef void _restore(State *state) noexcept nogil:
    """Restore all counters for the next message."""
    cdef const View *view = state.view
    cdef uint32_t i, at, filter
    if state.has_more or state.touched * COPIED > view.filters:
        memcpy(state.counters, view.sizes, view.filters)
    else:
        for i in range(state.counted):
            for at in range(state.run[i].first, state.run[i].end):
                filter = view.posting_filters[at]
                if filter < view.filters:
                    state.counters[filter] = view.sizes[filter]
    if state.has_refilled:
        memcpy(state.large_rests, view.large_rests, view.large_count * sizeof(uint32_t))
    state.work.postings += state.touched
    state.touched = 0
    state.counted = state.found = 0
    state.has_more = state.has_refilled = False


# --- The left side: numbers ---------------------------------------------------------------------

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
        _find(state, _first_not_below(state, branch, next), branch.end)
    elif branch.kind == NUMBER_LE:
        _find(state, _first_not_below(state, branch, own), branch.end)
    elif branch.kind == NUMBER_GT:
        _find(state, branch.first, _first_not_below(state, branch, own))
    elif branch.kind == NUMBER_GE:
        _find(state, branch.first, _first_not_below(state, branch, next))
    elif branch.kind == NUMBER_NE:
        first = _first_not_below(state, branch, own)
        _find(state, branch.first, first)
        _find(state, first + _has_operand(state.view, branch, first, place), branch.end)
    elif own != next:
        first = _first_not_below(state, branch, own)
        _find(state, first, first + _has_operand(state.view, branch, first, place))


cdef inline bint _has_operand(const View *view, const Branch *branch, uint32_t constraint, uint32_t place) noexcept nogil:
    return constraint < min(branch.end, view.operand_count) and 2 * view.operands[constraint] + 1 == place


# --- The left side: strings ---------------------------------------------------------------------

cdef void _find_one(void *state, uint32_t constraint) noexcept nogil:
    _find(<State *> state, constraint, constraint + 1)


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
        _find(state, link + ((own & STRING_LT) != 0), branch.end)
    elif branch.kind == DOWN:
        _find(state, branch.first, link + ((own & STRING_GE) != 0))
    elif own & STRING_NE:
        _find(state, branch.first, link)
        _find(state, link + 1, branch.end)
    else:
        _find(state, branch.first, branch.end)


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
                _find(state, branch.first, branch.end)
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


cdef void _leave(State *state, uint32_t count) noexcept nogil:
    cdef const View *view = state.view
    cdef uint32_t i
    for i in range(count):
        if state.leaves.attributes[i].symbol < view.symbols:
            state.leaves.slots[state.leaves.attributes[i].symbol] = 0
    if view.message_symbol < view.symbols:
        state.leaves.slots[view.message_symbol] = 0


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
            if target < state.targets.total and not (state.is_checked and _is_ignored(state.ignored, target)):
                _complete(state, filter, target)


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
            _deliver(state, view.always[i])
    _match_loose(state)
    for i in range(count):
        attribute = state.leaves.attributes + i
        if state.remaining and attribute.symbol < view.symbols:
            if state.leaves.slots[attribute.symbol] == i + 1 or (state.has_several and attribute.kind != TAG):
                _find_constraints(state, attribute)
                _count_found(state)
    _restore(state)
    _leave(state, count)


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
        _open_state(&self.own, &self.view, symbols, targets)

    def __dealloc__(self):
        _close_state(&self.own)
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
        _reserve(&self.own, self.encoder.batch, 0, 1)
        _match(&self.own, self.encoder.batch, 0, rounds)
        found.targets = &out[0] if out.shape[0] else NULL
        found.used = 0
        found.room = INT64_MAX  # all fit, so `out` is never reallocated
        take_targets(&self.own.targets, &found)
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
        _open_state(&state, &self.view, self.symbols, self.targets)
        state.is_short = short_circuit
        _reserve(&state, batch, first, end)
        found.targets = NULL
        found.used = found.room = 0
        with nogil:
            ends[0] = 0
            for row in range(first, end):
                _match(&state, batch, row, rounds)
                ok = take_targets(&state.targets, &found) and not state.bindings.is_out_of_memory
                if not ok:
                    break
                ends[row - first + 1] = found.used
        state.work.nodes = state.search.visited
        work = state.work
        _close_state(&state)
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
        _open_state(&state, &self.view, self.symbols, self.targets)
        _reserve(&state, batch, first, end)
        with nogil:
            for i in range(rounds):
                state.work.excluded = 0
                for message in range(first, end):
                    count = _enter(&state, batch, message)
                    _exclude(&state, i + 1)
                    _leave(&state, count)
                out[i] = state.work.excluded - before
                before = state.work.excluded
        _close_state(&state)
        return added


# --- Working memory -------------------------------------------------------------------------------

cdef void *_zeros(Py_ssize_t count, size_t size) except NULL:
    cdef void *room = PyMem_RawCalloc(count + 1, size)
    if room == NULL:
        raise MemoryError
    return room


cdef int _reserve(State *state, Batch batch, Py_ssize_t first, Py_ssize_t end) except -1:
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


cdef int _open_state(State *state, const View *view, Symbols symbols, uint32_t targets) except -1:
    memset(state, 0, sizeof(State))
    state.view = view
    state.leaves.symbols = &symbols.table
    state.leaves.message_symbol = view.message_symbol
    open_search(&state.bindings)
    state.search.find = _find_one
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
        _close_state(state)
        raise
    memcpy(state.counters, view.sizes, view.filters)
    memcpy(state.large_rests, view.large_rests, view.large_count * sizeof(uint32_t))
    return 0


cdef void _close_state(State *state) noexcept:
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
