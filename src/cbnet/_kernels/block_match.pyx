"""Matching with the block index. See `block_match.pxd`; `block_view.pxd` draws the arrays."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from cbnet._kernels.binding_search cimport BindingSearch, binding_exists, note_undecided
from cbnet._kernels.block_view cimport *
from cbnet._kernels.intrinsics cimport prefetch, trailing_zeros
from cbnet._kernels.memory cimport enlarge
from cbnet._kernels.message_encoding cimport NUMBER, STRING, Attribute
from cbnet._kernels.message_test cimport holds
from cbnet._kernels.pivot_match cimport State
from cbnet._kernels.pivot_view cimport Entry, View, first_blocked, is_removed
from cbnet._kernels.tag_sets cimport add_owned
from cbnet._kernels.test_codes cimport *
from cbnet._kernels.word_test cimport Leaves

cdef enum:
    VISITS = 256
    SURVIVORS = 1024
    AHEAD = 8           # survivors whose tests are fetched
    STEP = 4            # rows between two looks whether a bit is left

cdef extern from *:
    """
    /* A test of order or equality as a range of doubled ranks, without a branch: most words in blocks are such, in any
       order, and each mispredicted branch would take as long as a test. By test, from NUMBER_EQ on:
       =, !=, <, <=, >, >=. */
    #include <stdint.h>
    static const uint32_t CBNET_LOW_ADDED[6] = {0, 0, 0, 0, 1, 0};
    static const uint32_t CBNET_LOW_MASK[6] = {~0u, 0, 0, 0, ~0u, ~0u};
    static const uint32_t CBNET_HIGH_ADDED[6] = {0, 0, ~0u, 0, 0, 0};
    static const uint32_t CBNET_HIGH_MASK[6] = {0, ~0u, 0, 0, ~0u, ~0u};
    static inline int cbnet_in_range(uint32_t order, uint32_t bound, uint32_t place) {
        uint32_t low = (bound + CBNET_LOW_ADDED[order]) & CBNET_LOW_MASK[order];
        uint32_t high = (bound + CBNET_HIGH_ADDED[order]) | CBNET_HIGH_MASK[order];
        return (low <= place) & (place <= high);
    }
    """
    bint in_range "cbnet_in_range" (uint32_t order, uint32_t bound, uint32_t place) noexcept nogil

cdef enum:
    RANGE_TESTS = ((1 << (STRING_GE + 1)) - (1 << NUMBER_EQ)) & ~(1 << NUMBER_NE | 1 << STRING_NE)

cdef struct Pair:       # a state, and a block or an entry
    uint32_t state
    uint32_t number

cdef struct Walk:
    const View *view
    State *states
    Pair[VISITS] visits
    uint32_t visit_count
    Pair[SURVIVORS] survivors
    uint32_t survivor_count


cdef void _enter_dimensions(const View *view, State *state) noexcept nogil:
    """Set the cells of a message, and the least and greatest value of each dimension."""
    cdef const Blocks *blocks = &view.blocks
    cdef const Attribute *attribute
    cdef uint32_t i, dimension, place
    for i in range(state.count):
        attribute = state.leaves.attributes + i
        if attribute.symbol >= view.names or not (attribute.kind == NUMBER or attribute.kind == STRING):
            continue
        dimension = dimension_of(blocks, 2 * attribute.symbol + (attribute.kind == STRING))
        if dimension == NONE:
            continue
        place = state.leaves.places[i]
        if state.cells[dimension] == ABSENT:
            state.least[dimension] = state.most[dimension] = place
            state.cell_sets[dimension] = 0
        else:
            state.least[dimension] = min(state.least[dimension], place)
            state.most[dimension] = max(state.most[dimension], place)
        state.cells[dimension] = <uint8_t> cell_of(blocks.bounds + dimension * (CELLS - 1), place)
        state.cell_sets[dimension] |= (<uint64_t> 1) << state.cells[dimension]


cdef void _leave_dimensions(const View *view, State *state) noexcept nogil:
    cdef const Attribute *attribute
    cdef uint32_t i, dimension
    for i in range(state.count):
        attribute = state.leaves.attributes + i
        if attribute.symbol < view.names and (attribute.kind == NUMBER or attribute.kind == STRING):
            dimension = dimension_of(&view.blocks, 2 * attribute.symbol + (attribute.kind == STRING))
            if dimension != NONE:
                state.cells[dimension] = ABSENT


cdef void walk_blocks(const View *view, State *states, uint32_t count) noexcept nogil:
    """Find the entries in blocks that some messages satisfy; their ranks are known."""
    cdef const Blocks *blocks = &view.blocks
    cdef Walk walk
    cdef uint32_t i, dimension
    if blocks.count == 0:
        return
    walk.view, walk.states, walk.visit_count, walk.survivor_count = view, states, 0, 0
    for i in range(count):
        _enter_dimensions(view, states + i)
    for dimension in range(blocks.dimensions):
        if blocks.firsts[dimension] < blocks.firsts[dimension + 1]:
            _visit_dimension(&walk, count, dimension)
    _read_rows(&walk)
    _test_survivors(&walk)
    for i in range(count):
        _leave_dimensions(view, states + i)


cdef void _visit_dimension(Walk *walk, uint32_t count, uint32_t dimension) noexcept nogil:
    """Visit the blocks of a dimension: the first one with all messages, then the next."""
    cdef const Blocks *blocks = &walk.view.blocks
    cdef uint32_t block, i
    cdef State *state
    for block in range(blocks.firsts[dimension], min(blocks.firsts[dimension + 1], blocks.count)):
        for i in range(count):
            state = walk.states + i
            if (state.cells[dimension] != ABSENT and blocks.lows[block] <= state.most[dimension]
                    and state.least[dimension] <= blocks.highs[block]):
                if walk.visit_count == VISITS:
                    _read_rows(walk)
                walk.visits[walk.visit_count].state = i
                walk.visits[walk.visit_count].number = block
                walk.visit_count += 1


cdef inline void _fetch_rows(const Walk *walk, const Pair *visit) noexcept nogil:
    """Prefetch the rows of a visit."""
    cdef const Blocks *blocks = &walk.view.blocks
    cdef const uint8_t *cells = walk.states[visit.state].cells
    cdef uint32_t column, dimension
    cdef uint32_t end = column_end(blocks, visit.number)
    for column in range(blocks.blocks[visit.number].columns, end):
        dimension = blocks.columns[column]
        if dimension < blocks.dimensions:
            prefetch(row_of(blocks, column, cells[dimension]))


cdef void _read_rows(Walk *walk) noexcept nogil:
    """Find the survivors of the queued visits."""
    cdef uint64_t left[ROW_WORDS]
    cdef uint32_t i, entry, word
    cdef uint64_t bits
    cdef const Block *block
    cdef uint32_t end
    cdef bint is_any
    for i in range(walk.visit_count):
        if i + 1 < walk.visit_count:
            _fetch_rows(walk, walk.visits + i + 1)
        if walk.states[walk.visits[i].state].has_several:
            is_any = _and_several(walk, walk.visits + i, left)
        else:
            is_any = _and_rows(walk, walk.visits + i, left)
        if not is_any:
            continue
        block = walk.view.blocks.blocks + walk.visits[i].number
        end = min((block + 1).entries, walk.view.blocked.entry_count)
        if walk.survivor_count + BLOCK_FILTERS > SURVIVORS:
            _test_survivors(walk)
        for word in range(ROW_WORDS):
            bits = left[word]
            while bits:
                entry = block.entries + 64 * word + trailing_zeros(bits)
                bits &= bits - 1
                if entry >= end:
                    break
                prefetch(walk.view.blocked.entries + entry)
                walk.survivors[walk.survivor_count].state = walk.visits[i].state
                walk.survivors[walk.survivor_count].number = entry
                walk.survivor_count += 1
    walk.visit_count = 0


cdef inline bint _and_rows(const Walk *walk, const Pair *visit, uint64_t *left) noexcept nogil:
    """Write the AND of the rows of a message of single values; return whether a bit is left."""
    cdef const Blocks *blocks = &walk.view.blocks
    cdef const uint8_t *cells = walk.states[visit.state].cells
    cdef uint64_t all[ROW_WORDS]
    cdef uint64_t any = 1
    cdef uint32_t column = blocks.blocks[visit.number].columns
    cdef uint32_t end = column_end(blocks, visit.number)
    cdef uint32_t stop, dimension, w
    cdef const uint64_t *row
    for w in range(ROW_WORDS):
        all[w] = ~<uint64_t> 0
    while column < end and any:
        stop = min(end, column + STEP)
        while column < stop:
            dimension = blocks.columns[column]
            if dimension < blocks.dimensions:
                row = row_of(blocks, column, cells[dimension])
                for w in range(ROW_WORDS):
                    all[w] &= row[w]
            column += 1
        any = 0
        for w in range(ROW_WORDS):
            any |= all[w]
    for w in range(ROW_WORDS):
        left[w] = all[w]
    return any != 0


cdef bint _and_several(const Walk *walk, const Pair *visit, uint64_t *left) noexcept nogil:
    """The same for a message with several values: of a dimension, the rows of all its cells together."""
    cdef const Blocks *blocks = &walk.view.blocks
    cdef const State *state = walk.states + visit.state
    cdef uint64_t either[ROW_WORDS]
    cdef uint64_t any = 0
    cdef uint64_t cells
    cdef uint32_t column, dimension, w
    cdef const uint64_t *row
    for w in range(ROW_WORDS):
        left[w] = ~<uint64_t> 0
    for column in range(blocks.blocks[visit.number].columns, column_end(blocks, visit.number)):
        dimension = blocks.columns[column]
        if dimension >= blocks.dimensions:
            continue
        cells = (<uint64_t> 1) << ABSENT if state.cells[dimension] == ABSENT else state.cell_sets[dimension]
        for w in range(ROW_WORDS):
            either[w] = 0
        while cells:
            row = row_of(blocks, column, trailing_zeros(cells))
            cells &= cells - 1
            for w in range(ROW_WORDS):
                either[w] |= row[w]
        for w in range(ROW_WORDS):
            left[w] &= either[w]
    for w in range(ROW_WORDS):
        any |= left[w]
    return any != 0


cdef void _test_survivors(Walk *walk) noexcept nogil:
    """Test the queued survivors exactly."""
    cdef const View *view = walk.view
    cdef const Entry *entries = view.blocked.entries
    cdef State *state
    cdef uint32_t i, entry
    for i in range(min(walk.survivor_count, AHEAD)):
        prefetch(view.words + entries[walk.survivors[i].number].tests)
    for i in range(walk.survivor_count):
        if i + AHEAD < walk.survivor_count:
            prefetch(view.words + entries[walk.survivors[i + AHEAD].number].tests)
        state = walk.states + walk.survivors[i].state
        entry = walk.survivors[i].number
        state.touched += 1
        if _passes_entry(view, state, entry):
            _note_found(view, state, entry)
    walk.survivor_count = 0


cdef inline bint _passes_entry(const View *view, State *state, uint32_t entry) noexcept nogil:
    """Return whether a message satisfies the tests of an entry, which is not removed."""
    cdef const Entry *candidate = view.blocked.entries + entry
    cdef uint32_t test = candidate.tests
    cdef uint32_t test_end = min((candidate + 1).tests, view.word_count)
    if candidate.mask & ~state.mask or _is_seen(state, candidate.target):
        return False
    if view.removed != NULL and is_removed(view, first_blocked(view) + entry):
        return False
    if state.has_several:
        return test <= test_end and _passes_whole(view, state, candidate, test_end)
    state.search.owner = candidate.target
    while test < test_end and _holds(view, &state.leaves, &state.search, view.words[test]):
        test += 1
    return test >= test_end


cdef inline bint _holds(const View *view, Leaves *leaves, BindingSearch *search, uint64_t word) noexcept nogil:
    """Return whether a message of single values passes the test of a word, most likely one of a range."""
    cdef uint32_t symbol = <uint32_t> (word >> 38)
    cdef uint32_t test = (word >> 32) & 63
    cdef uint32_t slot
    if not (<uint64_t> RANGE_TESTS) >> test & 1 or symbol >= view.symbols or symbol == view.message_symbol:
        return holds(view, leaves, search, word)
    slot = leaves.slots[symbol]
    if slot == 0 or leaves.attributes[slot - 1].kind != (NUMBER if test <= NUMBER_GE else STRING):
        return False
    test -= NUMBER_EQ if test <= NUMBER_GE else STRING_EQ
    return in_range(test, 2 * <uint32_t> word + 1, leaves.places[slot - 1])


cdef bint _passes_whole(const View *view, State *state, const Entry *candidate, uint32_t test_end) noexcept nogil:
    """Return whether some binding of a message with several values satisfies an entry."""
    state.search.owner = candidate.target
    if binding_exists(&view.constants, &state.leaves, &state.search, NULL, view.words + candidate.tests,
                      test_end - candidate.tests):
        return True
    if state.search.is_undecided:
        note_undecided(&state.search)
    return False


cdef inline bint _is_seen(const State *state, uint32_t target) noexcept nogil:
    """Return whether a target was found already; only known if the targets are few."""
    return target < state.seen_targets and (state.seen[target >> 6] >> (target & 63)) & 1


cdef inline void _note_found(const View *view, State *state, uint32_t entry) noexcept nogil:
    cdef uint32_t target = view.blocked.entries[entry].target
    if state.found_count == state.found_room and not enlarge(<void **> &state.found, &state.found_room, sizeof(uint32_t)):
        state.search.is_out_of_memory = True
        return
    state.found[state.found_count] = entry
    state.found_count += 1
    if target < state.seen_targets:
        state.seen[target >> 6] |= (<uint64_t> 1) << (target & 63)


cdef void add_found(const View *view, State *state) noexcept nogil:
    """Add the targets of the entries that were found; if one was removed since, find them again."""
    cdef uint32_t i
    cdef uint64_t first = first_blocked(view)
    if view.removed != NULL:
        for i in range(state.found_count):
            if is_removed(view, first + state.found[i]):
                forget_found(state)
                walk_blocks(view, state, 1)
                break
    for i in range(state.found_count):
        add_owned(&view.groups, view.blocked.entries[state.found[i]].target, state.targets)


cdef void forget_found(State *state) noexcept nogil:
    """Forget the entries that were found for the present message."""
    cdef uint32_t i
    if state.found_count and state.seen_targets:
        for i in range((state.seen_targets >> 6) + 1):
            state.seen[i] = 0
    state.found_count = 0
