"""Matching with the pivot index, from attributes to targets. See `pivot_match.pxd`."""

from cpython.mem cimport PyMem_RawFree
from libc.string cimport memset

from cbnet._kernels.binding_search cimport (
    binding_exists, close_search, enter_leaves, has_several_values, leave_leaves, note_undecided, open_search,
)
from cbnet._kernels.block_match cimport add_found, forget_found, walk_blocks
from cbnet._kernels.block_view cimport ABSENT
from cbnet._kernels.constant_pool cimport (
    constant_place, first_compared, number_address, number_place, text_address, text_place,
)
from cbnet._kernels.intrinsics cimport prefetch
from cbnet._kernels.memory cimport enlarge, zeroed
from cbnet._kernels.message_encoding cimport BOOL, NUMBER, STRING, TAG
from cbnet._kernels.message_test cimport holds
from cbnet._kernels.pivot_lookup cimport UNSCREENED, find_queued, look_up_patterns, look_up_values
from cbnet._kernels.pivot_view cimport Entry, first_blocked, is_removed, listed_word, mark_of, mask_bit
from cbnet._kernels.tag_sets cimport add_owned
from cbnet._kernels.target_set cimport add_target, has_target, is_full
from cbnet._kernels.test_codes cimport *


cdef enum:
    MAX_SEEN = 4096  # targets; with more a message seldom matches one twice


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
    state.search.groups = &view.groups
    state.leaves.slots = <uint32_t *> zeroed(<size_t> view.symbols + 1, sizeof(uint32_t))
    if view.blocks.count:
        state.cells = <uint8_t *> zeroed(view.blocks.dimensions + 1, 1)
        memset(state.cells, ABSENT, view.blocks.dimensions)
        state.cell_sets = <uint64_t *> zeroed(view.blocks.dimensions + 1, sizeof(uint64_t))
        state.least = <uint32_t *> zeroed(view.blocks.dimensions + 1, sizeof(uint32_t))
        state.most = <uint32_t *> zeroed(view.blocks.dimensions + 1, sizeof(uint32_t))
        if targets.total <= MAX_SEEN:
            state.seen_targets = targets.total
            state.seen = <uint64_t *> zeroed((targets.total >> 6) + 1, sizeof(uint64_t))
    return 0


cdef void close_state(State *state) noexcept:
    close_search(&state.search)
    PyMem_RawFree(state.word)
    PyMem_RawFree(state.visit)
    PyMem_RawFree(state.hits.items)
    PyMem_RawFree(state.leaves.slots)
    PyMem_RawFree(state.leaves.places)
    PyMem_RawFree(state.cells)
    PyMem_RawFree(state.cell_sets)
    PyMem_RawFree(state.least)
    PyMem_RawFree(state.most)
    PyMem_RawFree(state.found)
    PyMem_RawFree(state.seen)


cdef void abandon(State *state) noexcept nogil:
    """Forget the message of a state, if it has one."""
    forget_found(state)
    leave_leaves(&state.leaves, state.count)
    state.count = state.words = state.visits = 0


cdef inline bint _has_mark(const State *state, uint8_t mark) noexcept nogil:
    return (state.marks[mark >> 6] >> (mark & 63)) & 1


cdef inline void _add_mark(State *state, uint64_t word) noexcept nogil:
    cdef uint8_t mark = mark_of(word)
    state.marks[mark >> 6] |= (<uint64_t> 1) << (mark & 63)


cdef void _visit_singles(const View *view, State *state, const Visit *visit) noexcept nogil:
    """Deliver to the targets of filters of their pivot only.

    Nothing here depends on the message, so there is no branch to mispredict: a message that goes to
    thousands of interfaces spends its time here.
    """
    cdef uint32_t single
    cdef TargetSet targets = state.targets[0]
    cdef const uint32_t *singles = visit.postings.targets
    state.touched += visit.single_end - visit.single
    for single in range(visit.single, visit.single_end):
        if view.removed == NULL or not is_removed(view, visit.first_single + single):
            if singles[single] < targets.total:
                add_target(&targets, singles[single])


cdef void _visit_entries(const View *view, State *state, const Visit *visit) noexcept nogil:
    """Deliver to the targets of entries whose other tests hold."""
    cdef uint32_t entry, target, test, test_end
    cdef uint64_t missing = ~state.mask
    cdef TargetSet targets = state.targets[0]
    cdef const Entry *entries = visit.postings.entries
    cdef const uint8_t *marks = visit.postings.marks
    cdef const Entry *candidate
    for entry in range(visit.entry, visit.entry_end):
        if not _has_mark(state, marks[entry]):
            continue
        state.touched += 1
        candidate = entries + entry
        if candidate.mask & missing:
            continue
        target = candidate.target
        if target < targets.total and has_target(&targets, target):
            continue
        if view.removed != NULL and is_removed(view, visit.first_entry + entry):
            continue
        test = candidate.tests
        test_end = min((candidate + 1).tests, view.word_count)
        state.search.owner = target
        while test < test_end and holds(view, &state.leaves, &state.search, view.words[test]):
            test += 1
        if test >= test_end:
            add_owned(&view.groups, target, state.targets)


cdef void _visit_whole_entries(const View *view, State *state, const Visit *visit) noexcept nogil:
    """Deliver to the targets of entries that some binding of the message satisfies."""
    cdef bint is_listed = visit.postings == &view.listed
    cdef uint64_t pivot = visit.pivot
    cdef uint32_t entry, test_end
    cdef const Entry *candidate
    for entry in range(visit.entry, visit.entry_end):
        if not _has_mark(state, visit.postings.marks[entry]):
            continue
        state.touched += 1
        candidate = visit.postings.entries + entry
        if candidate.mask & ~state.mask:
            continue
        if candidate.target < state.targets.total and has_target(state.targets, candidate.target):
            continue
        if view.removed != NULL and is_removed(view, visit.first_entry + entry):
            continue
        test_end = min((candidate + 1).tests, view.word_count)
        if is_listed:
            pivot = listed_word(visit.pivot, view.entry_bounds[entry])
        state.search.owner = candidate.target
        if candidate.tests <= test_end and binding_exists(&view.constants, &state.leaves, &state.search, &pivot,
                                                          view.words + candidate.tests, test_end - candidate.tests):
            add_owned(&view.groups, candidate.target, state.targets)
        elif state.search.is_undecided:
            note_undecided(&state.search)


cdef void _visit_queued(const View *view, State *state) noexcept nogil:
    """Visit the queued postings: singles first, so that a small set of targets is soon full."""
    cdef uint32_t i
    for i in range(state.visits):
        if state.visit[i].single < state.visit[i].single_end and not is_full(state.targets):
            _visit_singles(view, state, &state.visit[i])
    for i in range(state.visits):
        if state.visit[i].entry < state.visit[i].entry_end and not is_full(state.targets):
            if state.has_several:
                _visit_whole_entries(view, state, &state.visit[i])
            else:
                _visit_entries(view, state, &state.visit[i])
    state.visits = 0


cdef enum:
    FEW_TARGETS = 64
    SCREENED = 128
    TINY_BYTES = 32_768  # of a table that stays in the nearest cache
    # Tests as bits, by the search that gives the rank of a value.
    NUMBER_TESTS = (1 << (NUMBER_GE + 1)) - (1 << NUMBER_EQ) | 1 << IN
    STRING_ORDER = (1 << (STRING_GE + 1)) - (1 << STRING_LT)
    STRING_CONSTANTS = 1 << STRING_EQ | 1 << STRING_NE | 1 << IN | 1 << PREFIX | 1 << SUFFIX | 1 << SUBSTRING


cdef inline void _set_marks(State *state, const Attribute *attribute, uint32_t place) noexcept nogil:
    """Set the mask bit and the marks of an attribute: of its name and of its value."""
    cdef uint64_t name = <uint64_t> attribute.symbol << 38
    state.mask |= mask_bit(attribute.symbol)
    _add_mark(state, name)
    if attribute.kind == BOOL:
        _add_mark(state, name | <uint64_t> BOOL_EQ << 32 | (attribute.high != 0))
    elif place & 1 and attribute.kind != TAG:
        _add_mark(state, name | <uint64_t> (NUMBER_EQ if attribute.kind == NUMBER else STRING_EQ) << 32 | place >> 1)


cdef void _enter(const View *view, State *state) noexcept nogil:
    """Set slots, places and mask from the attributes of a message of single values."""
    cdef Leaves *leaves = &state.leaves
    cdef const Attribute *attribute
    cdef uint32_t i, tested
    for i in range(state.count):
        attribute = leaves.attributes + i
        if attribute.symbol >= view.symbols or leaves.slots[attribute.symbol]:
            continue  # a repeated tag
        leaves.slots[attribute.symbol] = i + 1
        tested = view.tested[attribute.symbol]
        if attribute.kind == NUMBER and tested & NUMBER_TESTS:
            leaves.places[i] = number_place(&view.constants.numbers, attribute.high, attribute.low)
        elif attribute.kind == STRING and tested & STRING_ORDER:
            leaves.places[i] = text_place(&view.constants.strings, attribute.text, attribute.length)
        elif attribute.kind == STRING and tested & STRING_CONSTANTS:
            leaves.places[i] = constant_place(&view.constants.strings, attribute.text, attribute.length)
        else:
            leaves.places[i] = 0
        _set_marks(state, attribute, leaves.places[i])


cdef void _enter_several(const View *view, State *state) noexcept nogil:
    """Set slots, places, followers and mask from all attributes of a message."""
    cdef uint32_t i
    enter_leaves(&view.constants, &state.leaves, state.count)
    for i in range(state.count):
        _set_marks(state, state.leaves.attributes + i, state.leaves.places[i])


cdef void _fetch_places(const View *view, const State *state) noexcept nogil:
    """Prefetch what is needed to find the ranks of values."""
    cdef const Attribute *attribute
    cdef uint32_t i
    for i in range(state.count):
        attribute = state.leaves.attributes + i
        if attribute.kind == NUMBER:
            prefetch(number_address(&view.constants.numbers, attribute.high))
        elif attribute.kind == STRING:
            prefetch(text_address(&view.constants.strings, attribute.text, attribute.length))


cdef void _fetch_numbers(const View *view, const State *state) noexcept nogil:
    """Prefetch the constants that numbers are compared with."""
    cdef const Attribute *attribute
    cdef uint32_t i
    for i in range(state.count):
        attribute = state.leaves.attributes + i
        if attribute.kind == NUMBER:
            prefetch(first_compared(&view.constants.numbers, attribute.high))


cdef void _enter_message(const View *view, State *state) noexcept nogil:
    """Find the ranks of values, and the mask and the marks."""
    state.mask = state.marks[0] = state.marks[1] = state.marks[2] = state.marks[3] = 0
    if state.has_several:
        _enter_several(view, state)
    else:
        _enter(view, state)
    if view.message_symbol < view.names:
        state.leaves.slots[view.message_symbol] = 1
        state.mask |= mask_bit(view.message_symbol)
        _add_mark(state, <uint64_t> view.message_symbol << 38)


cdef void _look_up(const View *view, State *state) noexcept nogil:
    """Queue the buckets and lists to look up."""
    look_up_values(view, state)
    if state.targets.total > FEW_TARGETS:
        look_up_patterns(view, state)


cdef void _screen(const View *view, State *state) noexcept nogil:
    """Divide queued entries, if not few, into runs that have marks of the message, and prefetch these."""
    cdef uint32_t i, at, first, end
    cdef const uint8_t *marks
    for i in range(state.visits):
        marks = state.visit[i].postings.marks
        at = state.visit[i].entry
        if state.visit[i].entry_end - at <= UNSCREENED:
            continue
        end = min(state.visit[i].entry_end, at + SCREENED)
        while at < end:
            if not _has_mark(state, marks[at]):
                at += 1
                continue
            first = at
            while at < end and _has_mark(state, marks[at]):
                at += 1
            _queue_run(state, i, first, at)
        state.visit[i].entry = end


cdef inline void _queue_run(State *state, uint32_t visit, uint32_t entry, uint32_t end) noexcept nogil:
    """Queue some of the entries of a visit, and prefetch them."""
    cdef Visit *run
    if state.visits == state.visit_room and not enlarge(<void **> &state.visit, &state.visit_room, sizeof(Visit)):
        state.search.is_out_of_memory = True
        return
    run = state.visit + state.visits
    run[0] = state.visit[visit]
    run.single = run.single_end
    run.entry, run.entry_end = entry, end
    prefetch(run.postings.entries + entry)
    prefetch(run.postings.entries + end)  # it ends the tests of the last
    state.visits += 1


cdef void _fetch_tests(const View *view, const State *state) noexcept nogil:
    """Prefetch the tests of the first entries that are queued."""
    cdef const Visit *visit
    cdef const Entry *entry
    cdef uint32_t i
    for i in range(state.visits):
        visit = state.visit + i
        entry = visit.postings.entries + visit.entry
        if visit.entry < visit.entry_end and not entry.mask & ~state.mask:
            prefetch(view.words + entry.tests)
            prefetch(view.words + visit.postings.entries[visit.entry_end].tests - 1)


cdef void enter_messages(const View *view, State *states, uint32_t count) noexcept nogil:
    """Find the ranks of the values of some messages, and match them with the blocks."""
    cdef uint32_t i, first
    cdef uint32_t end = 0
    cdef bint is_fetched = count > 1 and view.bytes > TINY_BYTES
    while end < count:
        first, end = end, min(count, end + MESSAGES_AT_ONCE)
        if is_fetched:
            for i in range(first, end):
                _fetch_places(view, states + i)
            for i in range(first, end):
                _fetch_numbers(view, states + i)
        for i in range(first, end):
            _enter_message(view, states + i)
    walk_blocks(view, states, count)


cdef void begin_matching(const View *view, State *states, uint32_t count) noexcept nogil:
    """Look up messages that were entered; each step fetches what the next one reads, if that takes less time."""
    cdef uint32_t i
    for i in range(count):
        _look_up(view, states + i)
    for i in range(count):
        find_queued(view, states + i)
    if count == 1 or view.bytes <= TINY_BYTES:
        return
    for i in range(count):
        _screen(view, states + i)
    for i in range(count):
        _fetch_tests(view, states + i)


cdef void finish_matching(const View *view, State *state) noexcept nogil:
    """Add the targets of a message that was looked up."""
    cdef uint64_t first = first_blocked(view) + view.blocked.entry_count
    cdef uint32_t i
    for i in range(view.always_count):
        if view.removed == NULL or not is_removed(view, first + i):
            add_owned(&view.groups, view.always[i], state.targets)
    add_found(view, state)
    _visit_queued(view, state)
    if state.targets.total <= FEW_TARGETS and not is_full(state.targets):  # else all of them may be matched already
        look_up_patterns(view, state)
        find_queued(view, state)
        _visit_queued(view, state)
    abandon(state)
