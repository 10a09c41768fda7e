"""Lookups in the pivot index. See `pivot_lookup.pxd`."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport qsort

from cbnet._kernels.arrays cimport compare_words, first_not_below
from cbnet._kernels.intrinsics cimport prefetch
from cbnet._kernels.memory cimport enlarge
from cbnet._kernels.message_encoding cimport BOOL, NULL_VALUE, NUMBER, STRING, TAG, Attribute
from cbnet._kernels.pivot_match cimport State, Visit
from cbnet._kernels.pivot_view cimport *
from cbnet._kernels.test_codes cimport *
from cbnet._kernels.text_patterns cimport Hits, find_patterns
from cbnet._kernels.word_test cimport Leaves, member_of

cdef enum:
    CACHE_LINE = 64  # bytes
    # Tests as bits: those without a list or pool of their own, and those of patterns and lists.
    PATTERN_TESTS = 1 << PREFIX | 1 << SUFFIX | 1 << SUBSTRING
    OTHER_TESTS = 1 << NULL_EQ | 1 << NOT_NULL | 1 << IN
    NUMBER_LISTS = (1 << (NUMBER_GE + 1)) - (1 << NUMBER_NE)
    STRING_LISTS = (1 << (STRING_GE + 1)) - (1 << STRING_NE)


cdef void _queue(const View *view, State *state, const Postings *postings, uint64_t pivot, uint32_t single,
                 uint32_t single_end, uint32_t entry, uint32_t entry_end) noexcept nogil:
    """Queue postings to visit, and prefetch them: most are not in the cache."""
    cdef Visit *visit
    cdef uint64_t first = 0
    if state.visits == state.visit_room and not enlarge(<void **> &state.visit, &state.visit_room, sizeof(Visit)):
        state.search.is_out_of_memory = True
        return
    visit = state.visit + state.visits
    visit.postings = postings
    visit.pivot = pivot
    visit.single_end = min(single_end, postings.target_count)
    visit.single = min(single, visit.single_end)
    visit.entry_end = min(entry_end, postings.entry_count)
    visit.entry = min(entry, visit.entry_end)
    if postings == &view.listed:
        first = <uint64_t> view.bucket.target_count + view.bucket.entry_count
    visit.first_single = first
    visit.first_entry = first + postings.target_count
    if visit.single < visit.single_end:
        prefetch(postings.targets + visit.single)
    if visit.entry < visit.entry_end:
        prefetch(postings.marks + visit.entry)
        if visit.entry_end - visit.entry <= UNSCREENED:
            prefetch(postings.entries + visit.entry)
        else:
            prefetch(postings.marks + min(visit.entry + CACHE_LINE, visit.entry_end) - 1)
    state.visits += visit.single < visit.single_end or visit.entry < visit.entry_end


cdef void _look_up(const View *view, State *state, uint32_t symbol, uint32_t test, uint32_t operand) noexcept nogil:
    """Queue the bucket of a word, and prefetch its slot."""
    cdef uint64_t word = (<uint64_t> symbol << 38) | (<uint64_t> test << 32) | operand
    if state.words == state.word_room and not enlarge(<void **> &state.word, &state.word_room, sizeof(uint64_t)):
        state.search.is_out_of_memory = True
        return
    state.word[state.words] = word
    state.words += 1
    prefetch(view.slots + (((word * MIX) >> 32) & (view.slot_count - 1)))


cdef void find_queued(const View *view, State *state) noexcept nogil:
    """Queue the postings of the queued buckets, each once."""
    cdef const uint64_t *words = state.word
    cdef const Slot *slots = view.slots
    cdef uint64_t last = view.slot_count - 1
    cdef uint64_t slot, probes, word
    cdef bint has_several = state.has_several
    cdef uint32_t i
    if has_several and state.words:
        qsort(state.word, state.words, sizeof(uint64_t), compare_words)
    for i in range(state.words):
        word = words[i]
        if has_several and i and word == words[i - 1]:
            continue
        slot = ((word * MIX) >> 32) & last
        for probes in range(view.slot_count):
            if slots[slot].key == word:
                _queue(view, state, &view.bucket, word, slots[slot].singles, slots[slot + 1].singles,
                       slots[slot].entries, slots[slot + 1].entries)
                break
            if slots[slot].key == FREE:
                break
            slot = (slot + 1) & last
    state.words = 0


cdef void _visit_list(const View *view, State *state, uint32_t symbol, uint32_t kind, uint32_t place) noexcept nogil:
    """Queue the postings of a list that hold for a value of doubled rank `place`."""
    cdef uint64_t number = <uint64_t> symbol * LISTS + kind
    cdef uint32_t single = view.list_singles[number]
    cdef uint32_t single_end = min(view.list_singles[number + 1], view.listed.target_count)
    cdef uint32_t entry = view.list_entries[number]
    cdef uint32_t entry_end = min(view.list_entries[number + 1], view.listed.entry_count)
    cdef uint32_t single_half, entry_half
    cdef bint is_up = kind == NUMBER_UP or kind == STRING_UP
    single = min(single, single_end)
    entry = min(entry, entry_end)
    if single == single_end and entry == entry_end:
        return
    if kind == NUMBER_UNEQUAL or kind == STRING_UNEQUAL:
        # All but those whose bound is the value: the postings before them, and those after.
        single_half = boundary(view.single_bounds, single, single_end, place - 1, False) if place else single
        entry_half = boundary(view.entry_bounds, entry, entry_end, place - 1, False) if place else entry
        _queue(view, state, &view.listed, number, single, single_half, entry, entry_half)
        single = boundary(view.single_bounds, single_half, single_end, place, False)
        entry = boundary(view.entry_bounds, entry_half, entry_end, place, False)
    elif kind != ANY:
        single_end = boundary(view.single_bounds, single, single_end, place, is_up)
        entry_end = boundary(view.entry_bounds, entry, entry_end, place, is_up)
    _queue(view, state, &view.listed, number, single, single_end, entry, entry_end)


cdef void _match_other(const View *view, State *state, const Attribute *attribute, uint32_t place) noexcept nogil:
    """Look up the tests for null and not null, and the sets that the value is a member of."""
    cdef uint64_t symbol = attribute.symbol
    cdef uint64_t key = symbol << 38 | member_of(attribute, place)
    cdef uint32_t at
    cdef uint32_t first = first_not_below(view.member_keys, 0, view.member_count, key)
    _look_up(view, state, attribute.symbol, NULL_EQ if attribute.kind == NULL_VALUE else NOT_NULL, 0)
    if first < view.member_count and view.member_keys[first] == key:
        for at in range(view.member_offsets[first], min(view.member_offsets[first + 1], view.member_total)):
            _look_up(view, state, attribute.symbol, IN, view.member_sets[at])


cdef inline void _match_equal(const View *view, State *state, const Attribute *attribute, uint32_t place) noexcept nogil:
    """Look up the test for the value itself."""
    cdef uint32_t test = NUMBER_EQ if attribute.kind == NUMBER else STRING_EQ
    if attribute.kind == BOOL:
        test = BOOL_EQ
        place = 2 * (attribute.high != 0) + 1
    if place & 1 and view.pivoted[attribute.symbol] >> test & 1:
        _look_up(view, state, attribute.symbol, test, place >> 1)


cdef void _match_attribute(const View *view, State *state, const Attribute *attribute, uint32_t place) noexcept nogil:
    cdef uint32_t symbol = attribute.symbol
    cdef uint32_t pivoted = view.pivoted[symbol]
    cdef uint32_t shift = 0
    if attribute.kind == TAG:
        _look_up(view, state, symbol, IS_TAG, 0)
        return
    if pivoted & (1 << EXISTS):
        _visit_list(view, state, symbol, ANY, 0)
    if pivoted & OTHER_TESTS:
        _match_other(view, state, attribute, place)
    _match_equal(view, state, attribute, place)
    if attribute.kind == STRING:  # its tests and lists are numbered as those of numbers
        pivoted >>= STRING_EQ - NUMBER_EQ
        shift = STRING_UP - NUMBER_UP
    if attribute.kind == NUMBER or attribute.kind == STRING:
        if pivoted & (1 << NUMBER_LT | 1 << NUMBER_LE):
            _visit_list(view, state, symbol, NUMBER_UP + shift, place)
        if pivoted & (1 << NUMBER_GT | 1 << NUMBER_GE):
            _visit_list(view, state, symbol, NUMBER_DOWN + shift, place)
        if pivoted & (1 << NUMBER_NE):
            _visit_list(view, state, symbol, NUMBER_UNEQUAL + shift, place)


cdef void _match_one_of_several(const View *view, State *state, uint32_t at) noexcept nogil:
    """Look up one of several values, and with the first of its symbol the lists for all of them."""
    cdef const Attribute *attribute = state.leaves.attributes + at
    cdef uint32_t symbol = attribute.symbol
    cdef uint32_t pivoted = view.pivoted[symbol]
    cdef uint32_t place = state.leaves.places[at]
    cdef bint is_first = state.leaves.slots[symbol] == at + 1
    if attribute.kind == TAG:
        if is_first:
            _look_up(view, state, symbol, IS_TAG, 0)
        return
    if is_first:
        if pivoted & (1 << EXISTS):
            _visit_list(view, state, symbol, ANY, 0)
        if pivoted & NUMBER_LISTS:
            _visit_lists(view, state, at, NUMBER)
        if pivoted & STRING_LISTS:
            _visit_lists(view, state, at, STRING)
    if pivoted & OTHER_TESTS:
        _match_other(view, state, attribute, place)
    _match_equal(view, state, attribute, place)


cdef void _visit_lists(const View *view, State *state, uint32_t leaf, uint32_t kind) noexcept nogil:
    """Queue the postings of lists that hold for some value of one type, from a symbol's first value on."""
    cdef const Leaves *leaves = &state.leaves
    cdef uint32_t symbol = leaves.attributes[leaf].symbol
    cdef uint32_t shift = 0 if kind == NUMBER else STRING_UP - NUMBER_UP
    cdef uint32_t least = 0xFFFFFFFF
    cdef uint32_t most = 0
    leaf += 1
    while leaf:
        if leaves.attributes[leaf - 1].kind == kind:
            least = min(least, leaves.places[leaf - 1])
            most = max(most, leaves.places[leaf - 1])
        leaf = leaves.following[leaf - 1]
    if least > most:
        return
    _visit_list(view, state, symbol, NUMBER_UP + shift, least)
    _visit_list(view, state, symbol, NUMBER_DOWN + shift, most)
    # Of two different values one differs from any bound; bounds are odd, so an even place differs from all.
    _visit_list(view, state, symbol, NUMBER_UNEQUAL + shift, least if least == most else 0)


cdef void _match_patterns(const View *view, State *state, const Attribute *attribute, uint32_t place) noexcept nogil:
    """Look up the prefixes, suffixes and substrings of a string: the slowest lookups."""
    cdef uint32_t tests = view.pivoted[attribute.symbol] & PATTERN_TESTS
    cdef const Hits *hits = &state.hits
    cdef uint32_t first = 0
    cdef uint32_t end, at
    if attribute.kind != STRING or not tests:
        return
    if place & 1 and view.patterns.hit_offsets != NULL:
        hits = &view.patterns.hits
        first, end = view.patterns.hit_offsets[place >> 1], view.patterns.hit_offsets[(place >> 1) + 1]
    else:
        state.hits.count = 0
        if not find_patterns(&view.patterns, attribute.text, attribute.length, tests, &state.hits):
            state.search.is_out_of_memory = True
        end = state.hits.count
    for at in range(first, end):
        if tests >> (hits.items[at] >> 32) & 1:
            _look_up(view, state, attribute.symbol, <uint32_t> (hits.items[at] >> 32), <uint32_t> hits.items[at])


cdef inline bint _is_looked_up(const View *view, const State *state, uint32_t at) noexcept nogil:
    """Return whether an attribute is known, and not a repeated tag."""
    cdef const Attribute *attribute = state.leaves.attributes + at
    if attribute.symbol >= view.symbols:
        return False
    return state.leaves.slots[attribute.symbol] == at + 1 or (state.has_several and attribute.kind != TAG)


cdef void look_up_patterns(const View *view, State *state) noexcept nogil:
    cdef uint32_t i
    for i in range(state.count):
        if _is_looked_up(view, state, i):
            _match_patterns(view, state, state.leaves.attributes + i, state.leaves.places[i])


cdef void look_up_values(const View *view, State *state) noexcept nogil:
    """Queue the buckets and lists that the attributes of a message lead to, except for patterns."""
    cdef uint32_t i
    if view.message_symbol < view.names:
        _visit_list(view, state, view.message_symbol, ANY, 0)
    for i in range(state.count):
        if _is_looked_up(view, state, i):
            if state.has_several:
                _match_one_of_several(view, state, i)
            else:
                _match_attribute(view, state, state.leaves.attributes + i, state.leaves.places[i])
