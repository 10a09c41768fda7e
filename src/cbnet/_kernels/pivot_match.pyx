"""Matching with the pivot index, from attributes to targets. See `pivot_match.pxd`."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from cbnet._kernels.binding_search cimport enter_leaves
from cbnet._kernels.constant_pool cimport constant_place, first_compared, number_address, number_place, text_address, text_place
from cbnet._kernels.intrinsics cimport prefetch
from cbnet._kernels.message_encoding cimport BOOL, NUMBER, STRING, TAG, Attribute
from cbnet._kernels.pivot_lookup cimport UNSCREENED, find_queued, look_up_patterns, look_up_values
from cbnet._kernels.pivot_state cimport State, Visit, abandon, enlarge, has_mark, set_mark
from cbnet._kernels.pivot_view cimport Entry, View, is_removed, mask_bit
from cbnet._kernels.pivot_visit cimport deliver, visit_queued
from cbnet._kernels.target_set cimport is_full
from cbnet._kernels.test_codes cimport *
from cbnet._kernels.word_test cimport Leaves

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
    set_mark(state, name)
    if attribute.kind == BOOL:
        set_mark(state, name | <uint64_t> BOOL_EQ << 32 | (attribute.high != 0))
    elif place & 1 and attribute.kind != TAG:
        set_mark(state, name | <uint64_t> (NUMBER_EQ if attribute.kind == NUMBER else STRING_EQ) << 32 | place >> 1)


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


cdef void _ask(const View *view, State *state) noexcept nogil:
    """Find the ranks of values, and queue the buckets and lists to look up."""
    state.mask = state.marks[0] = state.marks[1] = state.marks[2] = state.marks[3] = 0
    if state.has_several:
        _enter_several(view, state)
    else:
        _enter(view, state)
    if view.message_symbol < view.names:
        state.leaves.slots[view.message_symbol] = 1
        state.mask |= mask_bit(view.message_symbol)
        set_mark(state, <uint64_t> view.message_symbol << 38)
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
            if not has_mark(state, marks[at]):
                at += 1
                continue
            first = at
            while at < end and has_mark(state, marks[at]):
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


cdef void begin_matching(const View *view, State *states, uint32_t count) noexcept nogil:
    """Look up the messages of some states; each step fetches what the next one reads, if that takes less time."""
    cdef uint32_t i
    if count == 1 or view.bytes <= TINY_BYTES:
        for i in range(count):
            _ask(view, states + i)
            find_queued(view, states + i)
        return
    for i in range(count):
        _fetch_places(view, states + i)
    for i in range(count):
        _fetch_numbers(view, states + i)
    for i in range(count):
        _ask(view, states + i)
    for i in range(count):
        find_queued(view, states + i)
    for i in range(count):
        _screen(view, states + i)
    for i in range(count):
        _fetch_tests(view, states + i)


cdef void finish_matching(const View *view, State *state) noexcept nogil:
    """Add the targets of a message that was looked up."""
    cdef uint64_t before = <uint64_t> view.bucket.target_count + view.bucket.entry_count
    cdef uint32_t i
    before += <uint64_t> view.listed.target_count + view.listed.entry_count
    for i in range(view.always_count):
        if view.removed == NULL or not is_removed(view, before + i):
            deliver(view, state, view.always[i])
    visit_queued(view, state)
    if state.targets.total <= FEW_TARGETS and not is_full(state.targets):  # else all of them may be matched already
        look_up_patterns(view, state)
        find_queued(view, state)
        visit_queued(view, state)
    abandon(view, state)
