"""Opening the pivot index, and finding a filter in it; `pivot_view.pxd` draws it."""

from libc.stdlib cimport qsort
from libc.string cimport memcmp

from cbnet._kernels.arrays cimport compare_words, empty, pointer
from cbnet._kernels.block_view cimport *
from cbnet._kernels.byte_strings cimport PyUnicode_AsUTF8AndSize
from cbnet._kernels.dict_encoding cimport read_value
from cbnet._kernels.message_encoding cimport NUMBER, STRING, Attribute
from cbnet._kernels.constant_pool cimport number_place, text_at, text_place
from cbnet._kernels.intrinsics cimport trailing_zeros
from cbnet._kernels.symbol_table cimport find_symbol
from cbnet._kernels.tag_sets cimport open_groups, owned_by
from cbnet._kernels.test_codes cimport *
from cbnet._kernels.text_patterns cimport close_patterns, open_patterns
from cbnet._kernels.word_test cimport close_constants, member_of, open_constants

cdef int _open_entries(Postings *postings, dict arrays, str name) except -1:
    postings.entries = <const Entry *> pointer(arrays, f"{name}_entries", sizeof(Entry), 1)
    postings.entry_count = <uint32_t> len(arrays[f"{name}_entries"]) - 1
    return 0


cdef int _open_postings(Postings *postings, dict arrays, str name) except -1:
    cdef Py_ssize_t entries = len(arrays[f"{name}_entries"])
    _open_entries(postings, arrays, name)
    postings.targets = <const uint32_t *> pointer(arrays, f"{name}_targets", 4, 0)
    postings.target_count = <uint32_t> len(arrays[f"{name}_targets"])
    postings.marks = <const uint8_t *> pointer(arrays, f"{name}_marks", 1, entries - 1)
    return 0


cdef int open_view(View *view, Symbols symbols, dict arrays) except -1:
    """Set a view to the arrays of a table; raise ValueError if they do not fit together."""
    cdef int64_t message_symbol = find_symbol(&symbols.table, "#", 1, False)
    open_constants(&view.constants, arrays)
    open_patterns(&view.patterns, &view.constants.strings, arrays)
    view.member_count = <uint32_t> len(arrays["member_keys"])
    view.member_keys = <const uint64_t *> pointer(arrays, "member_keys", 8, 0)
    view.member_offsets = <const uint32_t *> pointer(arrays, "member_offsets", 4, <Py_ssize_t> view.member_count + 1)
    view.member_sets = <const uint32_t *> pointer(arrays, "member_sets", 4, 0)
    view.member_total = <uint32_t> len(arrays["member_sets"])
    view.symbols = symbols.count
    view.names = symbols.names
    view.message_symbol = symbols.count if message_symbol < 0 else <uint32_t> message_symbol
    view.tested = <const uint32_t *> pointer(arrays, "tested", 4, symbols.count)
    view.pivoted = <const uint32_t *> pointer(arrays, "pivoted", 4, symbols.count)
    view.slots = <const Slot *> pointer(arrays, "slots", sizeof(Slot), 2)
    view.slot_count = len(arrays["slots"]) - 1
    if view.slot_count & (view.slot_count - 1):
        raise ValueError("the section slots does not fit the others")
    _open_postings(&view.bucket, arrays, "bucket")
    view.list_singles = <const uint32_t *> pointer(arrays, "list_singles", 4, LISTS * <Py_ssize_t> view.names + 1)
    view.list_entries = <const uint32_t *> pointer(arrays, "list_entries", 4, LISTS * <Py_ssize_t> view.names + 1)
    _open_postings(&view.listed, arrays, "listed")
    view.single_bounds = <const uint32_t *> pointer(arrays, "single_bounds", 4, view.listed.target_count)
    view.entry_bounds = <const uint32_t *> pointer(arrays, "entry_bounds", 4, view.listed.entry_count)
    open_blocks(&view.blocks, arrays, view.names)
    _open_entries(&view.blocked, arrays, "blocked")
    view.blocked.targets, view.blocked.target_count, view.blocked.marks = NULL, 0, NULL
    view.words = <const uint64_t *> pointer(arrays, "words", 8, 0)
    view.word_count = <uint32_t> len(arrays["words"])
    view.always = <const uint32_t *> pointer(arrays, "always", 4, 0)
    view.always_count = <uint32_t> len(arrays["always"])
    open_groups(&view.groups, arrays)
    view.removed = NULL
    view.bytes = (view.slot_count * sizeof(Slot) + <uint64_t> view.word_count * sizeof(uint64_t)
            + (<uint64_t> view.bucket.entry_count + view.listed.entry_count) * sizeof(Entry)
            + (<uint64_t> view.bucket.target_count + view.listed.target_count) * sizeof(uint32_t))
    return 0


cdef void close_view(View *view) noexcept:
    """Free what `open_view` has made."""
    close_constants(&view.constants)
    close_patterns(&view.patterns)


cdef uint64_t listed_word(uint64_t number, uint32_t bound) noexcept nogil:
    """Return the word of a pivot in a list, from the number of the list and its bound."""
    cdef uint32_t kind = <uint32_t> (number % LISTS)
    cdef uint32_t test = 0
    cdef uint32_t operand = 0
    if kind != ANY:
        if kind == NUMBER_UP or kind == STRING_UP:
            test = NUMBER_LT + (bound & 1)
            operand = bound >> 1
        elif kind == NUMBER_DOWN or kind == STRING_DOWN:
            test = NUMBER_GT + (bound & 1)
            operand = (bound - 1) >> 1
        else:
            test = NUMBER_NE
            operand = bound >> 1
        if kind >= STRING_UP:
            test += STRING_EQ - NUMBER_EQ
    return (number // LISTS) << 38 | <uint64_t> test << 32 | operand


# --- Finding a filter

cdef uint32_t _constant_place(const View *view, uint32_t test, object constant) except? 0xFFFFFFFF:
    """Return twice the operand of a constant, plus 1 if the table has it."""
    cdef Attribute value
    if test == BOOL_EQ:
        return 2 * (constant is True) + 1
    if test == IN:
        return _set_place(view, constant)
    if test == CONDITION:
        return _code_place(view, constant)
    if test < BOOL_EQ or test == NULL_EQ or test == NOT_NULL:
        return 1
    read_value(constant, &value)
    if test <= NUMBER_GE:
        return number_place(&view.constants.numbers, value.high, value.low)
    return text_place(&view.constants.strings, value.text, value.length)


cdef uint32_t _set_place(const View *view, tuple typed) except? 0xFFFFFFFF:
    """Return the doubled rank of a set, given as pairs of type and value, among the sets; 0 if it is not there."""
    cdef Attribute value
    cdef uint32_t place, half
    cdef uint32_t first = 0
    cdef uint32_t count = view.constants.set_count
    cdef Py_ssize_t total = len(typed)
    cdef Py_ssize_t i
    cdef int difference
    wanted = empty("Q", total + 1)
    cdef uint64_t[::1] members = wanted
    for i in range(total):
        read_value(typed[i][1], &value)
        place = 1
        if value.kind == NUMBER:
            place = number_place(&view.constants.numbers, value.high, value.low)
        elif value.kind == STRING:
            place = text_place(&view.constants.strings, value.text, value.length)
        if not place & 1:
            return 0
        members[i] = member_of(&value, place)
    while count > 0:
        half = count >> 1
        difference = _compare_set(view, first + half, &members[0], total)
        if difference == 0:
            return 2 * (first + half) + 1
        if difference < 0:
            first += half + 1
            count -= half + 1
        else:
            count = half
    return 0


cdef int _compare_set(const View *view, uint32_t number, const uint64_t *members, Py_ssize_t count) noexcept nogil:
    """Compare a set of the table with members: by their number, then by the first that differs."""
    cdef uint32_t first = view.constants.set_offsets[number]
    cdef uint32_t end = min(view.constants.set_offsets[number + 1], view.constants.set_total)
    cdef Py_ssize_t i
    if first > end or end - first < count:
        return -1
    if end - first > count:
        return 1
    for i in range(count):
        if view.constants.set_members[first + i] != members[i]:
            return -1 if view.constants.set_members[first + i] < members[i] else 1
    return 0


cdef uint32_t _code_place(const View *view, bytes code) except? 0xFFFFFFFF:
    """Return the doubled rank of the code of a condition among those of the table; 0 if it has not this one."""
    cdef const char *wanted = code
    cdef Py_ssize_t total = len(code)
    cdef uint32_t first = 0
    cdef uint32_t count = view.constants.conditions.count
    cdef uint32_t half, length
    cdef const char *own
    cdef int difference
    while count > 0:
        half = count >> 1
        own = text_at(&view.constants.conditions, first + half, &length)
        difference = memcmp(own, wanted, min(<Py_ssize_t> length, total))
        if difference == 0:
            difference = (length > total) - (length < total)
        if difference == 0:
            return 2 * (first + half) + 1
        if difference < 0:
            first += half + 1
            count -= half + 1
        else:
            count = half
    return 0


cdef Py_ssize_t encode_tests(const View *view, Symbols symbols, frozenset tests, uint64_t *words) except -2:
    """Write the words of a set of (name or tag, test, constant), sorted; return how many.

    -1 if the table lacks a name, tag or constant. `words` has room for all tests.
    """
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t length
    cdef const char *text
    cdef int64_t symbol
    cdef uint32_t test, place
    for name, code, constant in tests:
        test = code
        text = PyUnicode_AsUTF8AndSize(name, &length)
        symbol = find_symbol(&symbols.table, text, length, test == IS_TAG)
        if symbol < 0:
            return -1
        place = _constant_place(view, test, constant)
        if not place & 1:
            return -1
        words[count] = (<uint64_t> symbol << 38) | (<uint64_t> test << 32) | (place >> 1)
        count += 1
    qsort(words, count, sizeof(uint64_t), compare_words)
    return count


cdef int64_t find_filter(const View *view, const uint64_t *words, Py_ssize_t count, uint32_t target) noexcept nogil:
    """Return the number of the posting that files these words for a target and is not removed, or -1.

    Postings are numbered: bucket singles, bucket entries, listed singles, listed entries, blocked entries, always.
    """
    cdef Py_ssize_t i
    cdef int64_t found
    if count == 0:
        return _find_always(view, target)
    for i in range(count):
        found = _find_under(view, words, count, i, target)
        if found >= 0:
            return found
    return _find_in_blocks(view, words, count, target) if view.blocks.count else -1


cdef bint _is_entry(const View *view, const Entry *entry, const uint64_t *words, Py_ssize_t count, Py_ssize_t pivot, uint32_t target) noexcept nogil:
    """Return whether an entry is the filter of these words, for this target; all are its tests but words[pivot], if any."""
    cdef uint32_t test, test_end = min((entry + 1).tests, view.word_count)
    cdef uint32_t owned_count
    cdef const uint32_t *owned
    cdef Py_ssize_t i
    if <Py_ssize_t> test_end - entry.tests != count - (pivot < count):
        return False
    for test in range(entry.tests, test_end):
        i = 0
        while i < count and (i == pivot or words[i] != view.words[test]):
            i += 1
        if i == count:
            return False
    owned = owned_by(&view.groups, &entry.target, &owned_count)
    i = 0
    while i < owned_count and owned[i] != target:
        i += 1
    return i < owned_count


cdef int64_t _find_in(const View *view, const Postings *postings, uint64_t before, uint32_t single, uint32_t single_end,
                      uint32_t entry, uint32_t entry_end, const uint64_t *words, Py_ssize_t count, Py_ssize_t pivot,
                      uint32_t target) noexcept nogil:
    """Return the number of the posting among these that is the filter, and is not removed; or -1."""
    cdef uint64_t number
    if count == 1:
        for single in range(single, min(single_end, postings.target_count)):
            number = before + single
            if postings.targets[single] == target and (view.removed == NULL or not is_removed(view, number)):
                return number
        return -1
    before += postings.target_count
    for entry in range(entry, min(entry_end, postings.entry_count)):
        number = before + entry
        if view.removed == NULL or not is_removed(view, number):
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
        kind = ANY if test <= NUMBER_GE else NUMBER_UNEQUAL  # lists of strings come three after those of numbers
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
        single_end = boundary(view.single_bounds, single, single_end, bound, is_up)
        entry_end = boundary(view.entry_bounds, entry, entry_end, bound, is_up)
        if is_up:
            single = boundary(view.single_bounds, single, single_end, bound + 1, True)
            entry = boundary(view.entry_bounds, entry, entry_end, bound + 1, True)
        elif bound:
            single = boundary(view.single_bounds, single, single_end, bound - 1, False)
            entry = boundary(view.entry_bounds, entry, entry_end, bound - 1, False)
    return _find_in(view, &view.listed, <uint64_t> view.bucket.target_count + view.bucket.entry_count,
                    single, single_end, entry, entry_end, words, count, pivot, target)


cdef int64_t _find_always(const View *view, uint32_t target) noexcept nogil:
    cdef uint64_t before = first_blocked(view) + view.blocked.entry_count
    cdef uint32_t i
    for i in range(view.always_count):
        if view.always[i] == target and (view.removed == NULL or not is_removed(view, before + i)):
            return before + i
    return -1


cdef enum:
    MAX_INTERVALS = 64  # a filter with more words is in no block


cdef int64_t _find_in_blocks(const View *view, const uint64_t *words, Py_ssize_t count, uint32_t target) noexcept nogil:
    """Return the number of the filter's posting in a block, or -1."""
    cdef const Blocks *blocks = &view.blocks
    cdef Interval intervals[MAX_INTERVALS]
    cdef uint32_t i, total, block, dimension, middle
    cdef int64_t found
    if count > MAX_INTERVALS:
        return -1
    total = intervals_of(words, <uint32_t> count, intervals)
    for i in range(total):
        dimension = dimension_of(blocks, intervals[i].key) if intervals[i].key >> 1 < view.names else NONE
        if dimension == NONE:
            continue
        middle = middle_of(blocks.bounds + dimension * (CELLS - 1), intervals[i].low, intervals[i].high)
        for block in range(blocks.firsts[dimension], min(blocks.firsts[dimension + 1], blocks.count)):
            if (blocks.lows[block] <= intervals[i].low and intervals[i].high <= blocks.highs[block]
                    and blocks.blocks[block].middle <= middle <= blocks.blocks[block].last_middle):
                found = _find_in_block(view, block, intervals, total, words, count, target)
                if found >= 0:
                    return found
    return -1


cdef int64_t _find_in_block(const View *view, uint32_t block, const Interval *intervals, uint32_t total,
                            const uint64_t *words, Py_ssize_t count, uint32_t target) noexcept nogil:
    cdef uint64_t survivors[ROW_WORDS]
    cdef uint64_t bits, number
    cdef uint32_t word, entry
    cdef uint32_t end = min(view.blocks.blocks[block + 1].entries, view.blocked.entry_count)
    survivors_like(&view.blocks, block, intervals, total, survivors)
    for word in range(ROW_WORDS):
        bits = survivors[word]
        while bits:
            entry = view.blocks.blocks[block].entries + 64 * word + trailing_zeros(bits)
            bits &= bits - 1
            if entry >= end:
                return -1
            number = first_blocked(view) + entry
            if view.removed == NULL or not is_removed(view, number):
                if _is_entry(view, view.blocked.entries + entry, words, count, count, target):
                    return number
    return -1
