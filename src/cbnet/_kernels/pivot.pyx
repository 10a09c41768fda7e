"""The pivot index: each filter is filed once, under one of its constraints, its pivot.

Where a filter stands depends on what its pivot tests.

Buckets, for tests that are looked up (=, ^=, $=, *=, tags, bools): an open hash table over the
words of pivots (see `matching.codes`), with postings in the order of the slots.

    slots   key      │ word │ FREE │ word │ …    the next slot says where the postings end
            singles  │ 0    │ 3    │ 3    │ …
            entries  │ 0    │ 0    │ 0    │ …

Lists, for tests that hold for a range of values (< <= > >= !=, exists): seven per name, each sorted
by the doubled place of its bound, so that those that hold stand together at the front.

    UP    x < c, x <= c   bounds fall, hold while place <= bound
    DOWN  x > c, x >= c   bounds rise, hold while place >= bound
    NE    x != c          bounds rise, hold unless place == bound
    ANY   exists x        always

A *single* is a filter that is nothing but its pivot: one target, no test. An *entry* has more:

    mask     uint64   names that it needs, hashed to bits: most candidates are refused by this alone
    tests    uint32   where its other words begin; the next entry's is where they end
    target   uint32   the interface; with the highest bit set, a group of interfaces that share it

Invariant: the postings of a slot or list lie between its offset and the next; every place read from
an array is checked against the length of what it points into, so that a damaged file can give wrong
answers but no read outside it.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int16_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from cbnet._kernels.encoding cimport BOOL, NUMBER, STRING, TAG, Attribute, Batch, Symbols
from cbnet._kernels.pools cimport (
    Numbers,
    Pool,
    Texts,
    begins,
    filter_bit,
    last_not_above,
    number_place,
    text_at,
    text_place,
)
from cbnet._kernels.results cimport (
    Found,
    TargetSet,
    add_target,
    close_targets,
    has_target,
    is_full,
    open_targets,
    take_targets,
)

cdef extern from * nogil:
    void __builtin_prefetch(const void *address)

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *length) except NULL

cdef extern from "string.h" nogil:
    void *memmem(const void *haystack, size_t haystack_length, const void *needle, size_t needle_length)

cdef enum Test:
    EXISTS, IS_TAG, BOOL_EQ
    NUMBER_EQ, NUMBER_NE, NUMBER_LT, NUMBER_LE, NUMBER_GT, NUMBER_GE
    STRING_EQ, STRING_NE, STRING_LT, STRING_LE, STRING_GT, STRING_GE
    PREFIX, SUFFIX, SUBSTRING

cdef enum List:
    ANY, NUMBER_UP, NUMBER_DOWN, NUMBER_UNEQUAL, STRING_UP, STRING_DOWN, STRING_UNEQUAL, LISTS

cdef extern from *:
    """
    #define FREE 0xFFFFFFFFFFFFFFFFULL
    #define GROUP 0x80000000U
    #define MIX 0x9E3779B97F4A7C15ULL
    """
    const uint64_t FREE
    const uint32_t GROUP
    const uint64_t MIX

cdef enum:
    SEEN_ROOM = 64
    WORD_ROOM = 128
    VISIT_ROOM = 128
    FEW_TARGETS = 64

cdef struct Entry:
    uint64_t mask
    uint32_t tests
    uint32_t target

cdef struct Slot:
    uint64_t key
    uint32_t singles
    uint32_t entries

cdef struct Postings:
    const uint32_t *targets     # of singles
    uint32_t target_count
    const Entry *entries        # one more than there are, to end the tests of the last
    uint32_t entry_count

cdef struct View:
    Numbers numbers
    Pool strings
    Pool prefixes
    Pool suffixes
    Pool substrings
    const uint8_t *substring_filter
    const uint32_t *tested      # per symbol: bit t is set if some constraint has test t
    const uint32_t *pivoted     # per symbol: the same of pivots
    uint32_t symbols
    uint32_t names
    const Slot *slots           # one more than there are, to end the postings of the last
    uint64_t slot_count         # a power of two
    Postings bucket
    const uint32_t *list_singles
    const uint32_t *list_entries
    const uint32_t *single_bounds
    const uint32_t *entry_bounds
    Postings listed
    const uint64_t *words       # the tests of all entries, bucket and listed
    uint32_t word_count
    const uint32_t *always
    uint32_t always_count
    const uint32_t *group_offsets
    const uint32_t *group_targets
    uint32_t groups
    uint32_t group_total
    const uint8_t *removed      # bits: bucket singles, bucket entries, listed singles, listed entries; or NULL

cdef struct Visit:
    const Postings *postings
    uint32_t single, single_end, entry, entry_end
    uint64_t first_single       # where these postings begin among the bits of `removed`
    uint64_t first_entry

cdef struct State:
    TargetSet targets
    uint64_t word[WORD_ROOM]    # buckets asked for
    uint32_t words
    Visit visit[VISIT_ROOM]     # postings found
    uint32_t visits
    uint32_t *slots             # per symbol: place + 1 in the message; 0: absent
    uint32_t *places            # per attribute of the message: the doubled place of its value
    uint32_t place_room
    uint64_t mask
    const Attribute *attributes
    int64_t touched


cdef inline uint64_t mask_bit(uint32_t symbol) noexcept nogil:
    """Return the bit of a symbol; the commonest 64, which stand first, have one each."""
    return (<uint64_t> 1) << (symbol & 63)


cdef bint _holds(const View *view, const State *state, uint64_t word) noexcept nogil:
    """Return whether the message passes the test of a word."""
    cdef uint32_t symbol = <uint32_t> (word >> 38)
    cdef uint32_t test = (word >> 32) & 63
    cdef uint32_t operand = <uint32_t> word
    cdef uint32_t slot, length, place, bound
    cdef const Attribute *attribute
    cdef const char *text
    if symbol >= view.symbols:
        return False
    slot = state.slots[symbol]
    if slot == 0:
        return False
    attribute = state.attributes + slot - 1
    if test <= IS_TAG:
        return True
    if test == BOOL_EQ:
        return attribute.kind == BOOL and attribute.high == operand
    if test <= STRING_GE:
        if attribute.kind != (NUMBER if test <= NUMBER_GE else STRING):
            return False
        if test >= STRING_EQ:
            test -= STRING_EQ - NUMBER_EQ
        place = state.places[slot - 1]
        bound = 2 * operand + 1
        if test == NUMBER_EQ:
            return place == bound
        if test == NUMBER_NE:
            return place != bound
        if test <= NUMBER_LE:
            return place < bound + (test == NUMBER_LE)
        return place > bound - (test == NUMBER_GE)
    if attribute.kind != STRING:
        return False
    text = text_at(&view.strings.texts, operand, &length)
    if length > attribute.length:
        return False
    if test == PREFIX:
        return memcmp(text, attribute.text, length) == 0
    if test == SUFFIX:
        return memcmp(text, attribute.text + attribute.length - length, length) == 0
    return test == SUBSTRING and (length == 0 or memmem(attribute.text, attribute.length, text, length) != NULL)


cdef inline void _deliver(const View *view, State *state, uint32_t target) noexcept nogil:
    cdef uint32_t at, end
    if target < GROUP:
        if target < state.targets.total:
            add_target(&state.targets, target)
        return
    target -= GROUP
    if target < view.groups:
        end = min(view.group_offsets[target + 1], view.group_total)
        for at in range(view.group_offsets[target], end):
            if view.group_targets[at] < state.targets.total:
                add_target(&state.targets, view.group_targets[at])


cdef inline bint _is_removed(const View *view, uint64_t posting) noexcept nogil:
    return (view.removed[posting >> 3] >> (posting & 7)) & 1


cdef void _visit_singles(const View *view, State *state, const Visit *visit) noexcept nogil:
    """Deliver to the targets of filters that are nothing but their pivot.

    Nothing here depends on the message, so there is no branch to mispredict: it is where a message
    that goes to thousands of interfaces spends its time.
    """
    cdef uint32_t single
    cdef uint32_t total = state.targets.total
    state.touched += visit.single_end - visit.single
    for single in range(visit.single, visit.single_end):
        if view.removed == NULL or not _is_removed(view, visit.first_single + single):
            if visit.postings.targets[single] < total:
                add_target(&state.targets, visit.postings.targets[single])


cdef void _visit_entries(const View *view, State *state, const Visit *visit) noexcept nogil:
    """Deliver to the targets of entries whose other tests hold."""
    cdef uint32_t entry, target, test, test_end
    cdef uint64_t missing = ~state.mask
    cdef const Entry *candidate
    state.touched += visit.entry_end - visit.entry
    for entry in range(visit.entry, visit.entry_end):
        candidate = visit.postings.entries + entry
        if candidate.mask & missing:
            continue
        target = candidate.target
        if target < state.targets.total and has_target(&state.targets, target):
            continue
        if view.removed != NULL and _is_removed(view, visit.first_entry + entry):
            continue
        test = candidate.tests
        test_end = min((candidate + 1).tests, view.word_count)
        while test < test_end and _holds(view, state, view.words[test]):
            test += 1
        if test >= test_end:
            _deliver(view, state, target)


cdef void _queue(const View *view, State *state, const Postings *postings, uint32_t single, uint32_t single_end,
                 uint32_t entry, uint32_t entry_end) noexcept nogil:
    """Remember postings to visit, and begin to fetch them: most are not in the cache."""
    cdef Visit *visit
    cdef uint64_t first = 0
    if state.visits == VISIT_ROOM:
        _visit_queued(view, state)
    visit = &state.visit[state.visits]
    visit.postings = postings
    visit.single_end = min(single_end, postings.target_count)
    visit.single = min(single, visit.single_end)
    visit.entry_end = min(entry_end, postings.entry_count)
    visit.entry = min(entry, visit.entry_end)
    if postings == &view.listed:
        first = <uint64_t> view.bucket.target_count + view.bucket.entry_count
    visit.first_single = first
    visit.first_entry = first + postings.target_count
    if visit.single < visit.single_end:
        __builtin_prefetch(postings.targets + visit.single)
    if visit.entry < visit.entry_end:
        __builtin_prefetch(postings.entries + visit.entry)
    state.visits += visit.single < visit.single_end or visit.entry < visit.entry_end


cdef void _visit_queued(const View *view, State *state) noexcept nogil:
    """Visit all that is queued: first what is sure to be delivered, so that few targets are soon full."""
    cdef uint32_t i
    for i in range(state.visits):
        if state.visit[i].single < state.visit[i].single_end and not is_full(&state.targets):
            _visit_singles(view, state, &state.visit[i])
    for i in range(state.visits):
        if state.visit[i].entry < state.visit[i].entry_end and not is_full(&state.targets):
            _visit_entries(view, state, &state.visit[i])
    state.visits = 0


cdef void _look_up(const View *view, State *state, uint32_t symbol, uint32_t test, uint32_t operand) noexcept nogil:
    """Ask for the bucket of a word; its slot is fetched meanwhile."""
    cdef uint64_t word = (<uint64_t> symbol << 38) | (<uint64_t> test << 32) | operand
    if state.words == WORD_ROOM:
        _find_asked(view, state)
    state.word[state.words] = word
    state.words += 1
    __builtin_prefetch(view.slots + (((word * MIX) >> 32) & (view.slot_count - 1)))


cdef void _find_asked(const View *view, State *state) noexcept nogil:
    """Queue the postings of the buckets that were asked for."""
    cdef uint64_t slot, probes, word
    cdef uint32_t i
    for i in range(state.words):
        word = state.word[i]
        slot = ((word * MIX) >> 32) & (view.slot_count - 1)
        for probes in range(view.slot_count):
            if view.slots[slot].key == word:
                _queue(view, state, &view.bucket, view.slots[slot].singles, view.slots[slot + 1].singles,
                       view.slots[slot].entries, view.slots[slot + 1].entries)
                break
            if view.slots[slot].key == FREE:
                break
            slot = (slot + 1) & (view.slot_count - 1)
    state.words = 0


cdef uint32_t _boundary(const uint32_t *bounds, uint32_t first, uint32_t end, uint32_t place, bint is_up) noexcept nogil:
    """Return the end of the bounds that hold, which stand together at the front."""
    cdef uint32_t count = end - first
    cdef uint32_t half
    while count > 0:
        half = count >> 1
        if (bounds[first + half] >= place) if is_up else (bounds[first + half] <= place):
            first += half + 1
            count -= half + 1
        else:
            count = half
    return first


cdef void _visit_list(const View *view, State *state, uint32_t symbol, uint32_t kind, uint32_t place) noexcept nogil:
    """Queue the postings of a list that hold for a value at `place`."""
    cdef uint64_t number = <uint64_t> symbol * LISTS + kind
    cdef uint32_t single = view.list_singles[number]
    cdef uint32_t single_end = min(view.list_singles[number + 1], view.listed.target_count)
    cdef uint32_t entry = view.list_entries[number]
    cdef uint32_t entry_end = min(view.list_entries[number + 1], view.listed.entry_count)
    cdef uint32_t single_half, entry_half
    cdef bint is_up = kind == NUMBER_UP or kind == STRING_UP
    single = min(single, single_end)
    entry = min(entry, entry_end)
    if kind == NUMBER_UNEQUAL or kind == STRING_UNEQUAL:
        # All but those whose bound is the value: what stands before them, and what stands behind.
        single_half = _boundary(view.single_bounds, single, single_end, place - 1, False) if place else single
        entry_half = _boundary(view.entry_bounds, entry, entry_end, place - 1, False) if place else entry
        _queue(view, state, &view.listed, single, single_half, entry, entry_half)
        single = _boundary(view.single_bounds, single_half, single_end, place, False)
        entry = _boundary(view.entry_bounds, entry_half, entry_end, place, False)
    elif kind != ANY:
        single_end = _boundary(view.single_bounds, single, single_end, place, is_up)
        entry_end = _boundary(view.entry_bounds, entry, entry_end, place, is_up)
    _queue(view, state, &view.listed, single, single_end, entry, entry_end)


cdef void _visit_prefixes(const View *view, State *state, const Pool *pool, const Attribute *attribute, uint32_t test) noexcept nogil:
    """Look up every member of the pool that the string begins (or ends) with."""
    cdef uint32_t place = last_not_above(pool, attribute.text, attribute.length)
    cdef uint32_t parent
    while place:
        if begins(pool, place - 1, attribute.text, attribute.length):
            _look_up(view, state, attribute.symbol, test, pool.ids[place - 1])
        parent = pool.parents[place - 1]
        place = parent if parent < place else 0  # falls always, so it ends, whatever the file says


cdef void _visit_substrings(const View *view, State *state, const Attribute *attribute) noexcept nogil:
    """Look up every member of the pool of substrings that the string contains, each once."""
    cdef const Pool *pool = &view.substrings
    cdef uint32_t seen[SEEN_ROOM]
    cdef uint32_t seen_count = 0
    cdef uint32_t at, place, parent, i
    cdef uint32_t width = view.substring_filter[8192]
    cdef uint32_t bit
    for at in range(attribute.length + 1):
        if 0 < width <= 3:
            if at + width > attribute.length:
                break
            bit = filter_bit(attribute.text + at, width)
            if not (view.substring_filter[bit >> 3] >> (bit & 7)) & 1:
                continue
        place = last_not_above(pool, attribute.text + at, attribute.length - at)
        while place:
            if begins(pool, place - 1, attribute.text + at, attribute.length - at):
                i = 0
                while i < seen_count and seen[i] != place:
                    i += 1
                if i == seen_count:
                    _look_up(view, state, attribute.symbol, SUBSTRING, pool.ids[place - 1])
                    if seen_count < SEEN_ROOM:  # beyond, a repeated one costs time but changes nothing
                        seen[seen_count] = place
                        seen_count += 1
            parent = pool.parents[place - 1]
            place = parent if parent < place else 0


cdef void _match_attribute(const View *view, State *state, const Attribute *attribute, uint32_t place) noexcept nogil:
    cdef uint32_t symbol = attribute.symbol
    cdef uint32_t pivoted = view.pivoted[symbol]
    if attribute.kind == TAG:
        _look_up(view, state, symbol, IS_TAG, 0)
        return
    if pivoted & (1 << EXISTS):
        _visit_list(view, state, symbol, ANY, 0)
    if attribute.kind == BOOL:
        if pivoted & (1 << BOOL_EQ):
            _look_up(view, state, symbol, BOOL_EQ, attribute.high != 0)
    elif attribute.kind == NUMBER:
        if pivoted & (1 << NUMBER_EQ) and place & 1:
            _look_up(view, state, symbol, NUMBER_EQ, place >> 1)
        if pivoted & (1 << NUMBER_LT | 1 << NUMBER_LE):
            _visit_list(view, state, symbol, NUMBER_UP, place)
        if pivoted & (1 << NUMBER_GT | 1 << NUMBER_GE):
            _visit_list(view, state, symbol, NUMBER_DOWN, place)
        if pivoted & (1 << NUMBER_NE):
            _visit_list(view, state, symbol, NUMBER_UNEQUAL, place)
    else:
        if pivoted & (1 << STRING_EQ) and place & 1:
            _look_up(view, state, symbol, STRING_EQ, place >> 1)
        if pivoted & (1 << STRING_LT | 1 << STRING_LE):
            _visit_list(view, state, symbol, STRING_UP, place)
        if pivoted & (1 << STRING_GT | 1 << STRING_GE):
            _visit_list(view, state, symbol, STRING_DOWN, place)
        if pivoted & (1 << STRING_NE):
            _visit_list(view, state, symbol, STRING_UNEQUAL, place)


cdef void _match_patterns(const View *view, State *state, const Attribute *attribute) noexcept nogil:
    """Look up the prefixes, suffixes and substrings that a string has: what takes longest to find."""
    cdef uint32_t pivoted = view.pivoted[attribute.symbol]
    if attribute.kind != STRING:
        return
    if pivoted & (1 << PREFIX):
        _visit_prefixes(view, state, &view.prefixes, attribute, PREFIX)
    if pivoted & (1 << SUFFIX):
        _visit_prefixes(view, state, &view.suffixes, attribute, SUFFIX)
    if pivoted & (1 << SUBSTRING):
        _visit_substrings(view, state, attribute)


cdef void _match(const View *view, State *state, const Attribute *attributes, uint32_t count) noexcept nogil:
    """Find the targets of one message; `state.places` has room for `count`."""
    cdef uint32_t i, symbol, tested
    cdef uint32_t numbers = (1 << (NUMBER_GE + 1)) - (1 << NUMBER_EQ)
    cdef uint32_t texts = (1 << (STRING_GE + 1)) - (1 << STRING_EQ)
    state.attributes = attributes
    state.mask = 0
    cdef uint64_t before = <uint64_t> view.bucket.target_count + view.bucket.entry_count
    before += <uint64_t> view.listed.target_count + view.listed.entry_count
    for i in range(view.always_count):
        if view.removed == NULL or not _is_removed(view, before + i):
            _deliver(view, state, view.always[i])
    for i in range(count):
        symbol = attributes[i].symbol
        if symbol >= view.symbols or state.slots[symbol]:
            continue  # a repeated tag
        state.slots[symbol] = i + 1
        state.mask |= mask_bit(symbol)
        tested = view.tested[symbol]
        if attributes[i].kind == NUMBER and tested & numbers:
            state.places[i] = number_place(&view.numbers, attributes[i].high, attributes[i].low)
        elif attributes[i].kind == STRING and tested & texts:
            state.places[i] = text_place(&view.strings, attributes[i].text, attributes[i].length)
        else:
            state.places[i] = 0
    for i in range(count):
        symbol = attributes[i].symbol
        if symbol < view.symbols and state.slots[symbol] == i + 1:
            _match_attribute(view, state, attributes + i, state.places[i])
    if state.targets.total <= FEW_TARGETS:  # these may all be reached already
        _find_asked(view, state)
        _visit_queued(view, state)
    if not is_full(&state.targets):
        for i in range(count):
            symbol = attributes[i].symbol
            if symbol < view.symbols and state.slots[symbol] == i + 1:
                _match_patterns(view, state, attributes + i)
        _find_asked(view, state)
        _visit_queued(view, state)
    for i in range(count):
        if attributes[i].symbol < view.symbols:
            state.slots[attributes[i].symbol] = 0


cdef bint _is_entry(const View *view, const Entry *entry, const uint64_t *words, Py_ssize_t count, Py_ssize_t pivot, uint32_t target) noexcept nogil:
    """Return whether an entry under the pivot is the filter of these words, for this target."""
    cdef uint32_t test, test_end = min((entry + 1).tests, view.word_count)
    cdef uint32_t group, member
    cdef Py_ssize_t i
    if <Py_ssize_t> test_end - entry.tests != count - 1:
        return False
    for test in range(entry.tests, test_end):
        i = 0
        while i < count and (i == pivot or words[i] != view.words[test]):
            i += 1
        if i == count:
            return False
    if entry.target < GROUP:
        return entry.target == target
    group = entry.target - GROUP
    if group < view.groups:
        for member in range(view.group_offsets[group], min(view.group_offsets[group + 1], view.group_total)):
            if view.group_targets[member] == target:
                return True
    return False


cdef int64_t _find_in(const View *view, const Postings *postings, uint64_t before, uint32_t single, uint32_t single_end,
                      uint32_t entry, uint32_t entry_end, const uint64_t *words, Py_ssize_t count, Py_ssize_t pivot,
                      uint32_t target) noexcept nogil:
    """Return the number of the posting among these that is the filter, and is not removed; or -1."""
    cdef uint64_t number
    if count == 1:
        for single in range(single, min(single_end, postings.target_count)):
            number = before + single
            if postings.targets[single] == target and (view.removed == NULL or not _is_removed(view, number)):
                return number
        return -1
    before += postings.target_count
    for entry in range(entry, min(entry_end, postings.entry_count)):
        number = before + entry
        if view.removed == NULL or not _is_removed(view, number):
            if _is_entry(view, postings.entries + entry, words, count, pivot, target):
                return number
    return -1


cdef int64_t _find_under(const View *view, const uint64_t *words, Py_ssize_t count, Py_ssize_t pivot, uint32_t target) noexcept nogil:
    """Return the number of the filter's posting if it is filed under its word `pivot`, or -1."""
    cdef uint64_t word = words[pivot]
    cdef uint32_t test = (word >> 32) & 63
    cdef uint32_t symbol = <uint32_t> (word >> 38)
    cdef uint32_t bound = 2 * <uint32_t> word
    cdef uint64_t slot, probes, number
    cdef uint32_t single, single_end, entry, entry_end
    cdef uint32_t kind = LISTS
    cdef bint is_up
    if test == EXISTS:
        kind = ANY
    elif NUMBER_NE <= test <= NUMBER_GE or STRING_NE <= test <= STRING_GE:
        kind = ANY if test <= NUMBER_GE else NUMBER_UNEQUAL  # lists of strings stand three behind those of numbers
        if test >= STRING_EQ:
            test -= STRING_EQ - NUMBER_EQ
        if test == NUMBER_NE:
            kind += NUMBER_UNEQUAL
        else:
            kind += NUMBER_UP if test <= NUMBER_LE else NUMBER_DOWN
        bound += 1 + (test == NUMBER_GT) - (test == NUMBER_LT)
    if kind == LISTS:
        slot = ((word * MIX) >> 32) & (view.slot_count - 1)
        for probes in range(view.slot_count):
            if view.slots[slot].key == word:
                return _find_in(view, &view.bucket, 0, view.slots[slot].singles, view.slots[slot + 1].singles,
                                view.slots[slot].entries, view.slots[slot + 1].entries, words, count, pivot, target)
            if view.slots[slot].key == FREE:
                return -1
            slot = (slot + 1) & (view.slot_count - 1)
        return -1
    if symbol >= view.names:
        return -1
    number = <uint64_t> symbol * LISTS + kind
    single_end = min(view.list_singles[number + 1], view.listed.target_count)
    single = min(view.list_singles[number], single_end)
    entry_end = min(view.list_entries[number + 1], view.listed.entry_count)
    entry = min(view.list_entries[number], entry_end)
    if kind != ANY:  # only those with the same bound
        is_up = kind == NUMBER_UP or kind == STRING_UP
        single_end = _boundary(view.single_bounds, single, single_end, bound, is_up)
        entry_end = _boundary(view.entry_bounds, entry, entry_end, bound, is_up)
        if is_up:
            single = _boundary(view.single_bounds, single, single_end, bound + 1, True)
            entry = _boundary(view.entry_bounds, entry, entry_end, bound + 1, True)
        elif bound:
            single = _boundary(view.single_bounds, single, single_end, bound - 1, False)
            entry = _boundary(view.entry_bounds, entry, entry_end, bound - 1, False)
    return _find_in(view, &view.listed, <uint64_t> view.bucket.target_count + view.bucket.entry_count,
                    single, single_end, entry, entry_end, words, count, pivot, target)


cdef int64_t _find_always(const View *view, uint32_t target) noexcept nogil:
    cdef uint64_t before = <uint64_t> view.bucket.target_count + view.bucket.entry_count
    cdef uint32_t i
    before += <uint64_t> view.listed.target_count + view.listed.entry_count
    for i in range(view.always_count):
        if view.always[i] == target and (view.removed == NULL or not _is_removed(view, before + i)):
            return before + i
    return -1


cdef class Index:
    """The arrays of a pivot index, checked against each other once, and room to match with."""

    cdef View view
    cdef readonly Symbols symbols
    cdef readonly uint32_t targets
    cdef object kept
    cdef State own
    cdef Found found
    cdef Batch batch

    def __init__(self, Symbols symbols, dict arrays, uint32_t targets):
        self.symbols = symbols
        self.targets = targets
        self.kept = arrays
        self.batch = Batch()
        _open_view(&self.view, symbols, arrays)
        _open_state(&self.own, &self.view, targets)

    def __cinit__(self):
        self.found.targets = NULL
        self.found.used = self.found.room = 0

    def __dealloc__(self):
        _close_state(&self.own)
        PyMem_RawFree(self.found.targets)

    def match_members(self, dict members, list labels, const uint8_t[::1] removed):
        """Match one message in its JSON form; return the labels of its targets, in order, or the targets.

        None if something in the message is not plain and valid. The lock of the interpreter is held
        throughout, so that threads may call this at once.
        """
        cdef Py_ssize_t i
        self.batch.clear()
        if not self.batch.push_members(self.symbols, members):
            return None
        _reserve(&self.own, self.batch.used)
        self.view.removed = &removed[0] if removed is not None and removed.shape[0] else NULL
        _match(&self.view, &self.own, self.batch.attributes, <uint32_t> self.batch.used)
        self.found.used = 0
        if not take_targets(&self.own.targets, &self.found):
            raise MemoryError
        if labels is None:
            return [self.found.targets[i] for i in range(self.found.used)]
        return [labels[self.found.targets[i]] for i in range(self.found.used)]

    def number_place(self, double high, int low):
        """Return the place of a number among the constants, or -1."""
        cdef uint32_t place = number_place(&self.view.numbers, high, <int16_t> low)
        return <int64_t> (place >> 1) if place & 1 else -1

    def string_place(self, str text):
        """Return the place of a string among the constants, or -1."""
        cdef Py_ssize_t length
        cdef const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length)
        cdef uint32_t place = text_place(&self.view.strings, utf8, <uint32_t> length)
        return <int64_t> (place >> 1) if place & 1 else -1

    def find(self, const uint64_t[::1] words, uint32_t target, const uint8_t[::1] removed):
        """Return the number of the posting that files these words for a target, or -1.

        Postings are numbered: bucket singles, bucket entries, listed singles, listed entries, always.
        """
        cdef Py_ssize_t i
        cdef int64_t found = -1
        self.view.removed = &removed[0] if removed is not None and removed.shape[0] else NULL
        if words.shape[0] == 0:
            return _find_always(&self.view, target)
        for i in range(words.shape[0]):
            found = _find_under(&self.view, &words[0], words.shape[0], i, target)
            if found >= 0:
                return found
        return -1

    def postings(self):
        """Return how many postings there are: bucket singles and entries, listed ones, always."""
        cdef View *view = &self.view
        return (view.bucket.target_count, view.bucket.entry_count, view.listed.target_count,
                view.listed.entry_count, view.always_count)

    def match_batch(self, Batch batch, Py_ssize_t first, Py_ssize_t end, const uint8_t[::1] removed):
        """Match messages `first` to `end`; return offsets, targets and how many postings were touched.

        The lock of the interpreter is not held: several threads may match at once.
        """
        cdef State state
        cdef View view = self.view
        cdef Found found
        cdef Py_ssize_t row, widest = 0
        cdef bint ok = True
        offsets = _array("q", end - first + 1)
        cdef int64_t[::1] ends = offsets
        view.removed = &removed[0] if removed is not None and removed.shape[0] else NULL
        for row in range(first, end):
            widest = max(widest, batch.offsets[row + 1] - batch.offsets[row])
        _open_state(&state, &view, self.targets)
        _reserve(&state, widest)
        found.targets = NULL
        found.used = found.room = 0
        with nogil:
            ends[0] = 0
            for row in range(first, end):
                _match(&view, &state, batch.attributes + batch.offsets[row],
                       <uint32_t> (batch.offsets[row + 1] - batch.offsets[row]))
                ok = take_targets(&state.targets, &found)
                if not ok:
                    break
                ends[row - first + 1] = found.used
        touched = state.touched
        _close_state(&state)
        if not ok:
            PyMem_RawFree(found.targets)
            raise MemoryError
        return offsets, _owned(found.targets, found.used), touched


cdef int _open_state(State *state, const View *view, uint32_t targets) except -1:
    state.touched = 0
    state.words = state.visits = 0
    state.place_room = 0
    state.places = NULL
    state.slots = <uint32_t *> PyMem_RawCalloc(<size_t> view.symbols + 1, sizeof(uint32_t))
    if state.slots == NULL:
        raise MemoryError
    return open_targets(&state.targets, targets)


cdef void _close_state(State *state) noexcept:
    close_targets(&state.targets)
    PyMem_RawFree(state.slots)
    PyMem_RawFree(state.places)


cdef int _reserve(State *state, Py_ssize_t count) except -1:
    if <Py_ssize_t> state.place_room < count:
        PyMem_RawFree(state.places)
        state.places = <uint32_t *> PyMem_RawCalloc(count + 16, sizeof(uint32_t))
        if state.places == NULL:
            raise MemoryError
        state.place_room = <uint32_t> count + 16
    return 0


cdef object _array(str code, Py_ssize_t count):
    import numpy

    return numpy.empty(count, code)


cdef object _owned(uint32_t *targets, int64_t count):
    """Copy the targets to an array of their own and free them."""
    array = _array("I", count)
    cdef uint32_t[::1] out = array
    cdef int64_t i
    for i in range(count):
        out[i] = targets[i]
    PyMem_RawFree(targets)
    return array


cdef const void *_pointer(dict arrays, str name, Py_ssize_t size, Py_ssize_t least) except? NULL:
    """Return where an array begins; it must have at least so many elements of that size."""
    array = arrays[name]
    if array.dtype.itemsize != size or array.ndim != 1 or len(array) < least or not array.flags.c_contiguous:
        raise ValueError(f"the section {name} does not fit the others")
    return <const void *> <size_t> array.ctypes.data


cdef int _open_pool(Pool *pool, const Texts *texts, dict arrays, str name, bint is_reversed) except -1:
    cdef Py_ssize_t count = len(arrays[f"{name}_ids"])
    pool.texts = texts[0]
    pool.count = <uint32_t> count
    pool.is_reversed = is_reversed
    pool.ids = <const uint32_t *> _pointer(arrays, f"{name}_ids", 4, count)
    pool.keys = <const uint64_t *> _pointer(arrays, f"{name}_keys", 8, count)
    pool.parents = <const uint32_t *> _pointer(arrays, f"{name}_parents", 4, count)
    return 0


cdef int _open_strings(Pool *pool, const Texts *texts, dict arrays) except -1:
    """Open the pool of all strings, as they stand."""
    pool.texts = texts[0]
    pool.count = texts.count
    pool.is_reversed = False
    pool.ids = pool.parents = NULL
    pool.keys = <const uint64_t *> _pointer(arrays, "string_keys", 8, texts.count)
    return 0


cdef int _open_postings(Postings *postings, dict arrays, str name) except -1:
    cdef Py_ssize_t targets = len(arrays[f"{name}_targets"])
    cdef Py_ssize_t entries = len(arrays[f"{name}_entries"])
    postings.targets = <const uint32_t *> _pointer(arrays, f"{name}_targets", 4, 0)
    postings.target_count = <uint32_t> targets
    postings.entries = <const Entry *> _pointer(arrays, f"{name}_entries", sizeof(Entry), 1)
    postings.entry_count = <uint32_t> entries - 1
    return 0


cdef int _open_view(View *view, Symbols symbols, dict arrays) except -1:
    cdef Texts texts
    cdef Py_ssize_t strings = len(arrays["string_offsets"]) - 1
    texts.data = <const uint8_t *> _pointer(arrays, "string_data", 1, 0)
    texts.bytes = <uint32_t> len(arrays["string_data"])
    texts.offsets = <const uint32_t *> _pointer(arrays, "string_offsets", 4, 1)
    texts.count = <uint32_t> strings
    _open_strings(&view.strings, &texts, arrays)
    _open_pool(&view.prefixes, &texts, arrays, "prefix", False)
    _open_pool(&view.suffixes, &texts, arrays, "suffix", True)
    _open_pool(&view.substrings, &texts, arrays, "substring", False)
    view.substring_filter = <const uint8_t *> _pointer(arrays, "substring_filter", 1, 8193)
    view.numbers.count = <uint32_t> len(arrays["number_high"])
    view.numbers.high = <const double *> _pointer(arrays, "number_high", 8, 0)
    view.numbers.low = <const int16_t *> _pointer(arrays, "number_low", 2, view.numbers.count)
    view.symbols = symbols.count
    view.names = symbols.names
    view.tested = <const uint32_t *> _pointer(arrays, "tested", 4, symbols.count)
    view.pivoted = <const uint32_t *> _pointer(arrays, "pivoted", 4, symbols.count)
    view.slots = <const Slot *> _pointer(arrays, "slots", sizeof(Slot), 2)
    view.slot_count = len(arrays["slots"]) - 1
    if view.slot_count & (view.slot_count - 1):
        raise ValueError("the section slots does not fit the others")
    _open_postings(&view.bucket, arrays, "bucket")
    view.list_singles = <const uint32_t *> _pointer(arrays, "list_singles", 4, LISTS * <Py_ssize_t> view.names + 1)
    view.list_entries = <const uint32_t *> _pointer(arrays, "list_entries", 4, LISTS * <Py_ssize_t> view.names + 1)
    _open_postings(&view.listed, arrays, "listed")
    view.single_bounds = <const uint32_t *> _pointer(arrays, "single_bounds", 4, view.listed.target_count)
    view.entry_bounds = <const uint32_t *> _pointer(arrays, "entry_bounds", 4, view.listed.entry_count)
    view.words = <const uint64_t *> _pointer(arrays, "words", 8, 0)
    view.word_count = <uint32_t> len(arrays["words"])
    view.always = <const uint32_t *> _pointer(arrays, "always", 4, 0)
    view.always_count = <uint32_t> len(arrays["always"])
    view.groups = <uint32_t> len(arrays["group_offsets"]) - 1
    view.group_offsets = <const uint32_t *> _pointer(arrays, "group_offsets", 4, 1)
    view.group_targets = <const uint32_t *> _pointer(arrays, "group_targets", 4, 0)
    view.group_total = <uint32_t> len(arrays["group_targets"])
    view.removed = NULL
    return 0
