"""Set tries: the search for the subsets of a query set among many sets.

A set is a row of ascending numbers, and belongs to a group; only sets of one group are compared. In the trie,
the sets of a group are below one node, each spelled from its largest number down:

    {4}  {1,4}  {2,4,9}        group ─4─► ● ─1─► ●
                                     └9─► ○ ─4─► ○ ─2─► ●          ● a set ends here

    edges   hash of (node, number) ──► node     open addressing, at most half full, doubled when needed
    values  node ──► value of the set that ends there; 0: none
    levels  node ──► depth, counting the edge of the group

Invariant: node 0 is the root and nothing leads to it, so 0 also means "no such node".

A search walks the nodes that are spelled with numbers of the query set only. Callers number by descending
frequency: the largest number of a set is its rarest, so few nodes are visited.

A set may hold for some of up to 64 cases and not for others: its mask has a bit for each.
"""

from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from cbnet._kernels.arrays cimport first_not_below
from cbnet._kernels.byte_strings cimport MIX
from cbnet._kernels.memory cimport resized, zeroed

cdef extern from *:
    """
    #define NO_KEY 0xFFFFFFFFFFFFFFFFULL
    """
    const uint64_t NO_KEY

cdef enum:
    FIRST_SLOTS = 1024


cdef struct Rows:
    const int32_t *groups
    const int64_t *offsets
    const int32_t *numbers


cdef class Trie:
    cdef uint64_t *keys       # node << 32 | number; NO_KEY: free
    cdef uint32_t *targets    # behind the keys
    cdef uint64_t mask        # slots - 1
    cdef uint64_t *values
    cdef uint32_t *levels
    cdef uint32_t nodes
    cdef uint32_t room        # for nodes

    def __cinit__(self):
        self.keys = _new_slots(FIRST_SLOTS)
        self.targets = <uint32_t *> (self.keys + FIRST_SLOTS)
        self.mask = FIRST_SLOTS - 1
        self.values = <uint64_t *> zeroed(FIRST_SLOTS, sizeof(uint64_t))
        self.levels = <uint32_t *> zeroed(FIRST_SLOTS, sizeof(uint32_t))
        self.nodes = 1
        self.room = FIRST_SLOTS

    def __dealloc__(self):
        PyMem_RawFree(self.keys)
        PyMem_RawFree(self.values)
        PyMem_RawFree(self.levels)


cdef uint64_t *_new_slots(uint64_t slots) except NULL:
    """Return free keys, with memory for as many targets behind them."""
    cdef uint64_t *keys = <uint64_t *> resized(NULL, slots * (sizeof(uint64_t) + sizeof(uint32_t)))
    memset(keys, 0xFF, slots * sizeof(uint64_t))
    return keys


cdef inline uint64_t _slot(uint64_t key) noexcept nogil:
    key *= MIX
    return key ^ (key >> 32)


cdef inline uint32_t _step(Trie trie, uint32_t node, int32_t number) noexcept nogil:
    """Return the node that a number leads to, or 0."""
    cdef uint64_t key = (<uint64_t> node << 32) | <uint32_t> number
    cdef uint64_t at = _slot(key) & trie.mask
    while trie.keys[at] != key:
        if trie.keys[at] == NO_KEY:
            return 0
        at = (at + 1) & trie.mask
    return trie.targets[at]


cdef inline void _put(uint64_t *keys, uint32_t *targets, uint64_t mask, uint64_t key, uint32_t target) noexcept nogil:
    cdef uint64_t at = _slot(key) & mask
    while keys[at] != NO_KEY:
        at = (at + 1) & mask
    keys[at] = key
    targets[at] = target


cdef int _double_slots(Trie trie) except -1:
    cdef uint64_t slots = (trie.mask + 1) * 2
    cdef uint64_t *keys = _new_slots(slots)
    cdef uint32_t *targets = <uint32_t *> (keys + slots)
    cdef uint64_t at
    for at in range(trie.mask + 1):
        if trie.keys[at] != NO_KEY:
            _put(keys, targets, slots - 1, trie.keys[at], trie.targets[at])
    PyMem_RawFree(trie.keys)
    trie.keys = keys
    trie.targets = targets
    trie.mask = slots - 1
    return 0


cdef int _double_nodes(Trie trie) except -1:
    trie.values = <uint64_t *> resized(trie.values, <uint64_t> trie.room * 2 * sizeof(uint64_t))
    trie.levels = <uint32_t *> resized(trie.levels, <uint64_t> trie.room * 2 * sizeof(uint32_t))
    trie.room *= 2
    return 0


cdef uint32_t _step_or_add(Trie trie, uint32_t node, int32_t number) except 0 nogil:
    """Return the node that a number leads to, created if there is none."""
    cdef uint32_t target = _step(trie, node, number)
    if target:
        return target
    if <uint64_t> trie.nodes * 2 > trie.mask:
        with gil:
            _double_slots(trie)
    if trie.nodes == trie.room:
        with gil:
            _double_nodes(trie)
    target = trie.nodes
    trie.nodes += 1
    trie.values[target] = 0
    trie.levels[target] = trie.levels[node] + 1
    _put(trie.keys, trie.targets, trie.mask, (<uint64_t> node << 32) | <uint32_t> number, target)
    return target


cdef uint32_t _spell(Trie trie, const Rows *rows, int64_t row) except 0 nogil:
    """Return the node that a row leads to, created if needed."""
    cdef uint32_t node = _step_or_add(trie, 0, rows.groups[row])
    cdef int64_t at = rows.offsets[row + 1]
    while at > rows.offsets[row]:
        at -= 1
        node = _step_or_add(trie, node, rows.numbers[at])
    return node


cdef class Walk:
    # One search: the nodes on the current path, and the next number to try from each.
    cdef const int32_t *numbers
    cdef uint32_t *nodes
    cdef int64_t *nexts
    cdef int64_t depth        # -1: at its end

    def __cinit__(self, const int64_t[::1] offsets):
        cdef int64_t longest = 0
        cdef Py_ssize_t row
        for row in range(offsets.shape[0] - 1):
            longest = max(longest, offsets[row + 1] - offsets[row])
        self.nodes = <uint32_t *> zeroed(longest + 1, sizeof(uint32_t))
        self.nexts = <int64_t *> zeroed(longest + 1, sizeof(int64_t))

    def __dealloc__(self):
        PyMem_RawFree(self.nodes)
        PyMem_RawFree(self.nexts)


cdef inline void _begin(Walk walk, Trie trie, const Rows *rows, int64_t row) noexcept nogil:
    walk.numbers = rows.numbers + rows.offsets[row]
    walk.nodes[0] = _step(trie, 0, rows.groups[row])
    walk.nexts[0] = rows.offsets[row + 1] - rows.offsets[row] - 1
    walk.depth = 0 if walk.nodes[0] else -1


cdef inline uint32_t _next(Walk walk, Trie trie) noexcept nogil:
    """Return the next node where a subset ends; 0 if there is none."""
    cdef uint32_t node
    cdef int64_t at
    while walk.depth >= 0:
        at = walk.nexts[walk.depth]
        if at < 0:
            walk.depth -= 1
            continue
        walk.nexts[walk.depth] = at - 1
        node = _step(trie, walk.nodes[walk.depth], walk.numbers[at])
        if node:
            walk.depth += 1
            walk.nodes[walk.depth] = node
            walk.nexts[walk.depth] = at - 1
            if trie.values[node]:
                return node
    return 0


cdef inline Rows _rows(const int32_t[::1] groups, const int64_t[::1] offsets, const int32_t[::1] numbers) noexcept nogil:
    cdef Rows rows
    rows.groups = &groups[0] if groups.shape[0] else NULL
    rows.offsets = &offsets[0]
    rows.numbers = &numbers[0] if numbers.shape[0] else NULL
    return rows


def drop_covered(const int32_t[::1] groups, const int64_t[::1] offsets, const int32_t[::1] numbers,
                 const uint64_t[::1] masks, const int64_t[::1] order, uint64_t[::1] left):
    """Write for each row the cases of its mask in which no row before it in `order` is inside it or equal: uint64[n].

    groups: int32[n]. offsets: int64[n+1]. numbers: int32, ascending in each row; no row is empty. masks: uint64[n].
    order: int64[n], the rows by ascending size.
    """
    cdef Rows rows = _rows(groups, offsets, numbers)
    cdef Trie trie = Trie()
    cdef Walk walk = Walk(offsets)
    cdef Py_ssize_t place
    cdef int64_t row
    cdef uint32_t node
    with nogil:
        for place in range(order.shape[0]):
            row = order[place]
            left[row] = masks[row]
            _begin(walk, trie, &rows, row)
            while left[row]:
                node = _next(walk, trie)
                if not node:
                    break
                left[row] &= ~trie.values[node]
            if left[row]:
                node = _spell(trie, &rows, row)
                trie.values[node] |= left[row]


def find_covered(const int32_t[::1] groups, const int64_t[::1] offsets, const int32_t[::1] numbers,
                 const uint64_t[::1] masks, const int32_t[::1] asked_groups, const int64_t[::1] asked_offsets,
                 const int32_t[::1] asked_numbers, const int64_t[::1] largest, uint64_t[::1] covered):
    """Write for each query row the cases in which a row of its group is inside it or equal: uint64[asked].

    largest: int64[asked], the most numbers that such a row may have. The rest is as in `drop_covered`.
    """
    cdef Rows rows = _rows(groups, offsets, numbers)
    cdef Rows asked = _rows(asked_groups, asked_offsets, asked_numbers)
    cdef Trie trie = Trie()
    cdef Walk walk = Walk(asked_offsets)
    cdef Py_ssize_t row
    cdef uint32_t node
    with nogil:
        for row in range(groups.shape[0]):
            node = _spell(trie, &rows, row)
            trie.values[node] |= masks[row]
        for row in range(asked_groups.shape[0]):
            covered[row] = 0
            _begin(walk, trie, &asked, row)
            node = _next(walk, trie)
            while node:
                if trie.levels[node] - 1 <= <uint64_t> largest[row]:
                    covered[row] |= trie.values[node]
                node = _next(walk, trie)


cdef struct Forest:
    # the preorder position of the parent of each position, and running minima of it; see
    # `topology.common_ancestors`
    const int32_t *minima    # [levels, places]
    int64_t places


cdef inline int32_t _meeting(const Forest *forest, int32_t low, int32_t high) noexcept nogil:
    """Return the position of the lowest common ancestor of two positions, low <= high."""
    cdef int64_t length = high - low
    cdef int level = 0
    cdef const int32_t *row
    if length == 0:
        return low
    while (length >> (level + 1)) != 0:
        level += 1
    row = forest.minima + level * forest.places
    return min(row[low + 1], row[high - (<int64_t> 1 << level) + 1])


cdef void _raise_tops(const Forest *forest, const int32_t *coverers, int64_t count,
                      const int32_t *places, int64_t asked, int32_t *tops) noexcept nogil:
    """Move the top of each position down to its lowest common ancestor with a coverer, if that is lower."""
    cdef int64_t at = 0
    cdef int64_t i
    cdef int32_t place
    for i in range(asked):
        place = places[i]
        at = first_not_below(coverers, at, count, place)
        if at < count:
            tops[i] = max(tops[i], _meeting(forest, place, coverers[at]))
        if at > 0:
            tops[i] = max(tops[i], _meeting(forest, coverers[at - 1], place))


def find_tops(const int32_t[::1] groups, const int64_t[::1] offsets, const int32_t[::1] numbers,
              const int64_t[::1] place_offsets, const int32_t[::1] places,
              const int32_t[::1] asked_groups, const int64_t[::1] asked_offsets, const int32_t[::1] asked_numbers,
              const int64_t[::1] asked_place_offsets, const int32_t[::1] asked_places, const int64_t[::1] largest,
              const int32_t[:, ::1] minima, int32_t[::1] tops, int32_t[::1] firsts, int32_t[::1] lasts):
    """Find for each position of a query row the lowest ancestor that it shares with a row inside the query row.

    A row has positions, ascending, in the preorder of a tree. minima: int32[levels, nodes]. tops: the positions of
    these ancestors; -1 if there is none. firsts, lasts: the smallest and largest position of the rows inside each
    query row; -1: none.
    largest: int64[asked], the most numbers that such a row may have. Equal rows must not occur twice.
    """
    cdef Rows rows = _rows(groups, offsets, numbers)
    cdef Rows asked = _rows(asked_groups, asked_offsets, asked_numbers)
    cdef Forest forest
    cdef Trie trie = Trie()
    cdef Walk walk = Walk(asked_offsets)
    cdef Py_ssize_t row
    cdef int64_t found, first, end, own
    cdef uint32_t node
    forest.minima = &minima[0, 0] if minima.shape[0] else NULL
    forest.places = minima.shape[1]
    with nogil:
        for row in range(offsets.shape[0] - 1):
            node = _spell(trie, &rows, row)
            trie.values[node] = row + 1
        for row in range(asked_offsets.shape[0] - 1):
            firsts[row] = lasts[row] = -1
            own = asked_place_offsets[row]
            for found in range(own, asked_place_offsets[row + 1]):
                tops[found] = -1
            _begin(walk, trie, &asked, row)
            node = _next(walk, trie)
            while node:
                found = trie.values[node] - 1
                first = place_offsets[found]
                end = place_offsets[found + 1]
                if end > first and trie.levels[node] - 1 <= <uint64_t> largest[row]:
                    if firsts[row] < 0 or places[first] < firsts[row]:
                        firsts[row] = places[first]
                    lasts[row] = max(lasts[row], places[end - 1])
                    _raise_tops(&forest, &places[0] + first, end - first, &asked_places[0] + own,
                                asked_place_offsets[row + 1] - own, &tops[0] + own)
                node = _next(walk, trie)


def number_rows(const int32_t[::1] groups, const int64_t[::1] offsets, const int32_t[::1] numbers, int64_t[::1] firsts):
    """Write for each row the first row of its group that is equal: int64[n]. The arrays are as in `drop_covered`."""
    cdef Rows rows = _rows(groups, offsets, numbers)
    cdef Trie trie = Trie()
    cdef Py_ssize_t row
    cdef uint32_t node
    with nogil:
        for row in range(groups.shape[0]):
            node = _spell(trie, &rows, row)
            if not trie.values[node]:
                trie.values[node] = row + 1
            firsts[row] = trie.values[node] - 1
