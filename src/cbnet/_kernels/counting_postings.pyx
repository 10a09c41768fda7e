"""The arrays and the working memory of the counting index, drawn in `counting_postings.pxd`.

The selectivity table gives interfaces that a message cannot match, by the names that it lacks [2002 §4.3]. Then the
constraints that hold are counted, and give filters and interfaces.
"""

from cpython.mem cimport PyMem_RawFree
from libc.string cimport memcpy, memset

from cbnet._kernels.arrays cimport first_not_below, pointer
from cbnet._kernels.binding_search cimport binding_exists, close_search, note_undecided, open_search, reserve_leaves
from cbnet._kernels.counting_strings cimport Entry, Node
from cbnet._kernels.intrinsics cimport prefetch
from cbnet._kernels.memory cimport zeroed
from cbnet._kernels.symbol_table cimport find_symbol
from cbnet._kernels.target_set cimport add_target, close_targets, open_targets
from cbnet._kernels.word_test cimport open_constants

cdef extern from *:
    """
    #define PAIRS 0x5555555555555555ULL
    #define FOURS 0x3333333333333333ULL
    #define BYTES 0x0F0F0F0F0F0F0F0FULL
    #define HALVES 0x00FF00FF00FF00FFULL
    #define SUM 0x0001000100010001ULL
    """
    const uint64_t PAIRS
    const uint64_t FOURS
    const uint64_t BYTES
    const uint64_t HALVES
    const uint64_t SUM

cdef enum:
    BLOCK = 512  # words combined at a time: 4 kB stay in the L1 cache
    SUMMED = 16  # words whose set bits are summed in eight bytes without overflow


cdef uint64_t _count_ones(const uint64_t *words, uint32_t count) noexcept nogil:
    """Return the number of set bits."""
    cdef uint64_t ones = 0
    cdef uint64_t word, sums
    cdef uint32_t at = 0
    cdef uint32_t i, end
    while at < count:
        end = min(at + SUMMED, count)
        sums = 0
        for i in range(at, end):
            word = words[i] - ((words[i] >> 1) & PAIRS)
            word = (word & FOURS) + ((word >> 2) & FOURS)
            sums += (word + (word >> 4)) & BYTES
        ones += (((sums & HALVES) + ((sums >> 8) & HALVES)) * SUM) >> 48
        at = end
    return ones


cdef inline void _join(uint64_t *into, const uint64_t *other, uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        into[i] |= other[i]


cdef uint64_t _join_listed(const Selectivity *table, uint32_t row, uint64_t *ignored) noexcept nogil:
    """Ignore the interfaces of a sparse row; return how many are newly ignored."""
    cdef uint64_t added = 0
    cdef uint64_t bit
    cdef uint32_t at, target
    for at in range(table.sparse_offsets[row], min(table.sparse_offsets[row + 1], table.sparse_count)):
        target = table.sparse[at]
        if target < table.targets:
            bit = (<uint64_t> 1) << (target & 63)
            added += (ignored[target >> 6] & bit) == 0
            ignored[target >> 6] |= bit
    return added


cdef uint64_t exclude(const Selectivity *table, const uint32_t *slots, uint32_t symbols, uint32_t rounds,
                      uint64_t *ignored) noexcept nogil:
    """Write the interfaces to ignore: those of the first `rounds` determinants that have no slot.

    ignored: uint64[words]. Return the number of its set bits; the silent ones are always set.
    """
    cdef uint64_t ones = 0
    cdef uint32_t block = 0
    cdef uint32_t count, row
    rounds = min(rounds, table.rows)
    if rounds == 0:
        memcpy(ignored, table.silent, table.words * sizeof(uint64_t))
        return table.silent_ones
    while block < table.words:
        count = min(<uint32_t> BLOCK, table.words - block)
        memcpy(ignored + block, table.silent + block, count * sizeof(uint64_t))
        for row in range(min(rounds, table.dense_rows)):
            if _lacks(table, row, slots, symbols):
                _join(ignored + block, table.dense + <size_t> row * table.words + block, count)
        ones += _count_ones(ignored + block, count)
        block += count
    for row in range(table.dense_rows, rounds):
        if _lacks(table, row, slots, symbols):
            ones += _join_listed(table, row - table.dense_rows, ignored)
    return ones


cdef inline bint _lacks(const Selectivity *table, uint32_t row, const uint32_t *slots, uint32_t symbols) noexcept nogil:
    return table.determinants[row] >= symbols or slots[table.determinants[row]] == 0


cdef int open_view(View *view, Symbols symbols, dict arrays, uint32_t targets) except -1:
    """Set a view to the arrays of a table; raise ValueError if they do not fit together."""
    cdef Py_ssize_t postings = len(arrays["posting_filters"])
    view.symbols = symbols.count
    view.symbol_branches = <const uint32_t *> pointer(arrays, "symbol_branches", 4, <Py_ssize_t> symbols.count + 1)
    view.branches = <const Branch *> pointer(arrays, "branches", sizeof(Branch), 0)
    view.branch_count = <uint32_t> len(arrays["branches"])
    open_constants(&view.constants, arrays)
    view.operands = <const uint32_t *> pointer(arrays, "operands", 4, 0)
    view.operand_count = <uint32_t> len(arrays["operands"])
    view.posting_offsets = <const uint32_t *> pointer(arrays, "posting_offsets", 4, 1)
    view.constraint_count = <uint32_t> len(arrays["posting_offsets"]) - 1
    view.posting_filters = <const uint32_t *> pointer(arrays, "posting_filters", 4, 0)
    view.posting_targets = <const uint32_t *> pointer(arrays, "posting_targets", 4, postings)
    view.posting_count = <uint32_t> postings
    view.sizes = <const uint8_t *> pointer(arrays, "sizes", 1, 0)
    view.filters = <uint32_t> len(arrays["sizes"])
    view.large_filters = <const uint32_t *> pointer(arrays, "large_filters", 4, 0)
    view.large_count = <uint32_t> len(arrays["large_filters"])
    view.large_rests = <const uint32_t *> pointer(arrays, "large_rests", 4, view.large_count)
    view.always = <const uint32_t *> pointer(arrays, "always", 4, 0)
    view.always_count = <uint32_t> len(arrays["always"])
    _open_filters(view, symbols, arrays)
    view.tries.entries = <const Entry *> pointer(arrays, "entries", sizeof(Entry), 0)
    view.tries.entry_count = <uint32_t> len(arrays["entries"])
    view.tries.nodes = <const Node *> pointer(arrays, "nodes", sizeof(Node), 0)
    view.tries.node_count = <uint32_t> len(arrays["nodes"])
    view.tries.strings = view.constants.strings.texts
    _open_selectivity(&view.selectivity, arrays, targets)
    return 0


cdef int _open_filters(View *view, Symbols symbols, dict arrays) except -1:
    """Open what is needed to check a filter as a whole."""
    cdef int64_t message_symbol = find_symbol(&symbols.table, "#", 1, False)
    view.message_symbol = symbols.count if message_symbol < 0 else <uint32_t> message_symbol
    view.filter_offsets = <const uint32_t *> pointer(arrays, "filter_offsets", 4, <Py_ssize_t> view.filters + 1)
    view.filter_words = <const uint64_t *> pointer(arrays, "filter_words", 8, 0)
    view.filter_word_count = <uint32_t> len(arrays["filter_words"])
    view.filter_targets = <const uint32_t *> pointer(arrays, "filter_targets", 4, view.filters)
    view.uncounted = NULL
    if len(arrays["uncounted"]):
        view.uncounted = <const uint8_t *> pointer(arrays, "uncounted", 1, view.filters)
    view.loose = <const uint32_t *> pointer(arrays, "loose", 4, 0)
    view.loose_count = <uint32_t> len(arrays["loose"])
    return 0


cdef int _open_selectivity(Selectivity *table, dict arrays, uint32_t targets) except -1:
    table.targets = targets
    table.words = (targets >> 6) + 1
    table.silent = <const uint64_t *> pointer(arrays, "silent", 8, table.words)
    table.silent_ones = _count_ones(table.silent, table.words)
    table.determinants = <const uint32_t *> pointer(arrays, "determinants", 4, 0)
    table.rows = <uint32_t> len(arrays["determinants"])
    table.dense = <const uint64_t *> pointer(arrays, "dense", 8, 0)
    table.dense_rows = <uint32_t> min(len(arrays["dense"]) // table.words, table.rows)
    table.sparse_offsets = <const uint32_t *> pointer(arrays, "sparse_offsets", 4, table.rows - table.dense_rows + 1)
    table.sparse = <const uint32_t *> pointer(arrays, "sparse", 4, 0)
    table.sparse_count = <uint32_t> len(arrays["sparse"])
    return 0


cdef int reserve(State *state, Batch batch, Py_ssize_t first, Py_ssize_t end) except -1:
    """Make room for the attributes of any of some messages."""
    cdef Py_ssize_t widest = 0
    cdef Py_ssize_t row
    for row in range(first, end):
        widest = max(widest, batch.offsets[row + 1] - batch.offsets[row])
    if not reserve_leaves(&state.leaves, &state.leaf_room, widest):
        raise MemoryError
    return 0


cdef int open_state(State *state, const View *view, Symbols symbols, uint32_t targets) except -1:
    memset(state, 0, sizeof(State))
    state.view = view
    state.leaves.symbols = &symbols.table
    state.leaves.message_symbol = view.message_symbol
    open_search(&state.bindings)
    state.search.find = _find_one
    state.search.owner = state
    try:
        open_targets(&state.targets, targets)
        state.ignored = <uint64_t *> zeroed(view.selectivity.words + 1, sizeof(uint64_t))
        state.counters = <uint8_t *> zeroed(view.filters + 1, sizeof(uint8_t))
        state.large_rests = <uint32_t *> zeroed(view.large_count + 1, sizeof(uint32_t))
        state.leaves.slots = <uint32_t *> zeroed(view.symbols + 1, sizeof(uint32_t))
        state.stamps = <uint32_t *> zeroed(view.constraint_count + 1, sizeof(uint32_t))
        state.search.seen = <uint32_t *> zeroed(view.tries.entry_count + 1, sizeof(uint32_t))
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


cdef enum:
    LARGE = 255         # a filter of this size or more has a rest
    CHUNK = 64          # postings whose interfaces are read before any is counted
    COPIED = 32         # counters copied in the time of restoring one


cdef bint _is_complete(State *state, uint32_t filter) noexcept nogil:
    """Return whether a counter at 0 is complete; else refill it from the rest of a large size."""
    cdef const View *view = state.view
    cdef uint32_t first, more
    if view.sizes[filter] < LARGE:
        return True
    first = first_not_below(view.large_filters, 0, view.large_count, filter)
    if first >= view.large_count or state.large_rests[first] == 0:
        return True
    more = min(state.large_rests[first], <uint32_t> LARGE)
    state.large_rests[first] -= more
    state.counters[filter] = <uint8_t> more
    state.has_refilled = True
    return False


cdef bint _is_satisfied(State *state, uint32_t filter) noexcept nogil:
    """Return whether a filter whose counted constraints hold is satisfied as a whole."""
    cdef const View *view = state.view
    cdef uint32_t first, end
    if not state.has_several and (view.uncounted == NULL or not view.uncounted[filter]):
        return True
    end = min(view.filter_offsets[filter + 1], view.filter_word_count)
    first = min(view.filter_offsets[filter], end)
    return binding_exists(&view.constants, &state.leaves, &state.bindings, NULL, view.filter_words + first, end - first)


cdef void complete(State *state, uint32_t filter, uint32_t target) noexcept nogil:
    """Add the interface of a filter whose constraints are counted, if it is satisfied."""
    if not state.is_verified or _is_satisfied(state, filter):
        deliver(state, target)
    elif state.bindings.is_undecided:
        state.bindings.owner = target
        note_undecided(&state.bindings)


cdef void deliver(State *state, uint32_t target) noexcept nogil:
    """Add an interface to the answer."""
    add_target(&state.targets, target)
    if state.is_short and not is_ignored(state.ignored, target):
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
                count += not is_ignored(ignored, target)
        at = end
        has_matched = False
        for i in range(count):
            filter = filters[left[i]]
            if filter >= filter_count or (has_matched and is_ignored(ignored, targets[left[i]])):
                continue
            counted += 1
            counters[filter] -= 1
            if counters[filter] == 0 and _is_complete(state, filter):
                complete(state, filter, targets[left[i]])
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
                complete(state, filter, view.posting_targets[at])
    state.work.counters += run.end - run.first
    state.touched += run.end - run.first


cdef void count_found(State *state) noexcept nogil:
    """Count the runs found since the last call."""
    while state.counted < state.found and state.remaining:
        if state.is_checked:
            _count_checked(state, &state.run[state.counted])
        else:
            _count_all(state, &state.run[state.counted])
        state.counted += 1


cdef void find_range(State *state, uint32_t first, uint32_t end) noexcept nogil:
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


cdef void _find_one(void *state, uint32_t constraint) noexcept nogil:
    find_range(<State *> state, constraint, constraint + 1)


cdef void _find_run(State *state, uint32_t first, uint32_t end) noexcept nogil:
    """Record a range of constraints, not empty, and prefetch its postings."""
    cdef const View *view = state.view
    cdef Run *run
    if state.found == RUN_ROOM:
        count_found(state)
        state.counted = state.found = 0
        state.has_more = True
    run = &state.run[state.found]
    run.end = min(view.posting_offsets[end], view.posting_count)
    run.first = min(view.posting_offsets[first], run.end)
    prefetch(view.posting_filters + run.first)
    prefetch(view.posting_targets + run.first)
    state.found += 1
    state.work.constraints += end - first


cdef void restore(State *state) noexcept nogil:
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
