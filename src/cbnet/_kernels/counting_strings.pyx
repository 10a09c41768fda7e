"""The string index: a ternary search trie finds the constraints that a string satisfies [2002 §4.2].

It is drawn in `engines.constraint_index`. A trie is laid out in preorder: a node, then its continuations,
then the smaller and the larger siblings. The tree of bytes at one depth has the byte of the median string
at its root, so that a search turns sideways at most log2(strings) times.

Invariant: every index read from an array is checked against the length of the array that it refers to,
and walks only go forward, so a damaged file can give wrong answers but no read outside it.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.string cimport memset

from cbnet._kernels.constant_pool cimport text_at

cdef extern from *:
    """
    #define NOWHERE 0xFFFFFFFFU
    """
    const uint32_t NOWHERE

cdef enum Behind:
    NOTHING, NODES, TAIL

cdef enum Side:
    EQUAL, LOW, HIGH

# The rest of a value during a search.
cdef struct Value:
    const char *text
    uint32_t length
    uint32_t start
    uint32_t at                 # the next byte

# The start of the next larger string.
cdef struct Above:
    uint32_t node               # at this node,
    bint has_low                # or at one of its smaller siblings


cdef void _find_points(const Tries *tries, Search *search, uint32_t node, uint32_t tests) noexcept nogil:
    """Report the constraints of a node's entry with some tests; a substring once per search."""
    cdef uint32_t entry = tries.nodes[node].entry
    cdef uint32_t here, constraint
    if entry >= tries.entry_count:
        return
    here = tries.entries[entry].tests
    tests &= here
    if tests & SUBSTRING:
        if search.seen[entry] == search.number:
            tests &= ~(<uint32_t> SUBSTRING)
        search.seen[entry] = search.number
    constraint = tries.entries[entry].points
    while tests:
        if tests & 1:
            search.find(search.owner, constraint)
        constraint += here & 1
        here >>= 1
        tests >>= 1


cdef inline uint32_t _onward(const Tries *tries, uint32_t node, uint32_t other) noexcept nogil:
    """Return the other node if there is one: it follows this one."""
    return other if node < other < tries.node_count else NOWHERE


cdef uint32_t _step(const Tries *tries, Search *search, uint32_t node, uint8_t byte, Above *above) noexcept nogil:
    """Return the node of a byte after a node, or NOWHERE."""
    cdef const Node *here
    node = _onward(tries, node, node + 1) if tries.nodes[node].behind == NODES else NOWHERE
    while node != NOWHERE:
        here = tries.nodes + node
        search.visited += 1
        if byte == here.byte:
            if here.high:
                above[0] = Above(here.high, True)
            return node
        if byte < here.byte:
            above[0] = Above(node, False)
            node = _onward(tries, node, here.low)
        else:
            node = _onward(tries, node, here.high)
    return NOWHERE


cdef bint _follow_tail(const Tries *tries, Search *search, uint32_t node, Value *value, Above *above) noexcept nogil:
    """Compare the rest of the only string below a node; return whether the value contains all of it."""
    cdef uint32_t depth = value.at - value.start
    cdef uint32_t entry = tries.nodes[node].entry
    cdef uint32_t length
    cdef const char *text
    if entry >= tries.entry_count:
        return False
    text = text_at(&tries.strings, tries.entries[entry].string, &length)
    while depth < length and value.at < value.length and text[depth] == value.text[value.at]:
        depth += 1
        value.at += 1
        search.visited += 1
    if depth < length:
        search.visited += 1
        if value.at == value.length or <uint8_t> value.text[value.at] < <uint8_t> text[depth]:
            above[0] = Above(node, False)
    return depth >= length


cdef uint32_t _go_back(const Tries *tries, Search *search, Above above) noexcept nogil:
    """Return the nearest entry above, or NOWHERE: the smallest entry from a node of the path on."""
    cdef uint32_t node = _onward(tries, 0, above.node)
    cdef uint32_t low
    while node != NOWHERE:
        search.visited += 1
        low = _onward(tries, node, tries.nodes[node].low) if above.has_low else NOWHERE
        if low == NOWHERE and tries.nodes[node].entry != NOWHERE:
            return tries.nodes[node].entry
        above.has_low = True
        node = low if low != NOWHERE else _onward(tries, node, node + 1)
    return NOWHERE


cdef void _search_from(const Tries *tries, Search *search, uint32_t node, Value value, bint has_chains) noexcept nogil:
    """Find the points of constants that occur in the value at `start`; at 0 also the nearest entry."""
    cdef uint32_t on_the_way = SUBSTRING if value.start else PREFIX | SUBSTRING
    cdef uint32_t at_the_end = SUFFIX if value.start else STRING_EQ | SUFFIX
    cdef Above above = Above(NOWHERE, False)
    cdef bint is_whole = True  # the whole path occurs in the value
    cdef uint32_t next
    if value.start == 0:
        _find_points(tries, search, node, on_the_way)
    while value.at < value.length:
        next = _step(tries, search, node, <uint8_t> value.text[value.at], &above)
        if next == NOWHERE:
            break
        node = next
        value.at += 1
        if tries.nodes[node].behind == TAIL:
            is_whole = _follow_tail(tries, search, node, &value, &above)
        if is_whole:
            _find_points(tries, search, node, on_the_way)
    is_whole &= value.at == value.length
    if is_whole:
        _find_points(tries, search, node, at_the_end)
    if value.start == 0 and has_chains:
        search.is_equal = is_whole and tries.nodes[node].entry != NOWHERE
        if is_whole and not search.is_equal:
            above = Above(node + 1, True)
        search.nearest = tries.nodes[node].entry if search.is_equal else _go_back(tries, search, above)


cdef void search_trie(const Tries *tries, Search *search, uint32_t root, uint32_t tests, const char *text,
                      uint32_t length) noexcept nogil:
    """Find the points that a string satisfies, and its nearest entry; `tests`: all tests of the trie."""
    cdef uint32_t start
    search.nearest = NOWHERE
    search.is_equal = False
    if root >= tries.node_count:
        return
    search.number += 1
    if search.number == 0:  # the numbers are exhausted: start again
        memset(search.seen, 0, tries.entry_count * sizeof(uint32_t))
        search.number = 1
    _search_from(tries, search, root, Value(text, length, 0, 0), tests >= STRING_LT)
    if tests & (SUFFIX | SUBSTRING):
        for start in range(1, length + 1):
            _search_from(tries, search, root, Value(text, length, start, start), False)


# --- Building -----------------------------------------------------------------------------------

# The strings of the entries, in order within each trie.
cdef struct Keys:
    const uint8_t *data
    const uint32_t *offsets
    const uint32_t *places      # per entry: the index of its text

# Entries that share their first `depth` bytes, are longer, and have no node yet.
cdef struct Span:
    uint32_t first
    uint32_t end
    uint32_t depth
    uint32_t parent
    Side side

cdef struct Stack:
    Span *spans
    Py_ssize_t used
    Py_ssize_t room


cdef inline uint32_t _length(const Keys *keys, uint32_t entry) noexcept nogil:
    cdef uint32_t string = keys.places[entry]
    return keys.offsets[string + 1] - keys.offsets[string]


cdef inline uint8_t _byte(const Keys *keys, uint32_t entry, uint32_t depth) noexcept nogil:
    return keys.data[keys.offsets[keys.places[entry]] + depth]


cdef Keys _keys(const uint8_t[::1] data, const uint32_t[::1] offsets, const uint32_t[::1] strings) noexcept:
    cdef Keys keys
    keys.data = &data[0] if data.shape[0] else NULL
    keys.offsets = &offsets[0]
    keys.places = &strings[0] if strings.shape[0] else NULL
    return keys


cdef uint32_t _shared(const Keys *keys, uint32_t entry, uint32_t first, uint32_t end) noexcept nogil:
    """Return the length of the common prefix of an entry and the one before, if both are of one trie."""
    cdef uint32_t shared = 0
    cdef uint32_t shorter
    if first < entry < end:
        shorter = min(_length(keys, entry - 1), _length(keys, entry))
        while shared < shorter and _byte(keys, entry - 1, shared) == _byte(keys, entry, shared):
            shared += 1
    return shared


def count_nodes(const uint8_t[::1] data, const uint32_t[::1] offsets, const uint32_t[::1] strings,
                const uint32_t[::1] firsts):
    """Return the number of nodes of the tries: a root each, and for every string the nodes it adds.

    strings: uint32[entries], indices of sorted texts. firsts: uint32[tries + 1], the entries of each trie.
    """
    cdef Keys keys = _keys(data, offsets, strings)
    cdef int64_t nodes = firsts.shape[0] - 1
    cdef uint32_t entry, end, before, behind
    cdef Py_ssize_t trie
    with nogil:
        for trie in range(firsts.shape[0] - 1):
            before = 0
            end = firsts[trie + 1]
            for entry in range(firsts[trie], end):
                behind = _shared(&keys, entry + 1, firsts[trie], end)
                nodes += min(_length(&keys, entry), max(before, behind) + 1) - before  # the rest is a tail
                before = behind
    return nodes


def fill_nodes(const uint8_t[::1] data, const uint32_t[::1] offsets, const uint32_t[::1] strings,
               const uint32_t[::1] firsts, Node[::1] nodes, uint32_t[::1] roots):
    """Write the nodes of all tries, uint32[tries] roots among them; see `count_nodes`."""
    cdef Keys keys = _keys(data, offsets, strings)
    cdef Stack stack
    cdef Py_ssize_t trie
    cdef uint32_t used = 0
    stack.spans = NULL
    stack.used = stack.room = 0
    try:
        with nogil:
            for trie in range(firsts.shape[0] - 1):
                roots[trie] = used
                used = _fill_trie(&keys, firsts[trie], firsts[trie + 1], &nodes[0], used, &stack)
    finally:
        PyMem_RawFree(stack.spans)


cdef uint32_t _fill_trie(const Keys *keys, uint32_t first, uint32_t end, Node *nodes, uint32_t root,
                         Stack *stack) except? 0 nogil:
    """Write a trie from `root` on; return the root of the next."""
    cdef uint32_t used = root + 1
    cdef uint32_t middle, same, same_end
    cdef uint8_t byte
    cdef Span span
    nodes[root] = Node(0, 0, NOWHERE, 0, NOTHING, 0)
    if _length(keys, first) == 0:
        nodes[root].entry = first
        first += 1
    _push(stack, first, end, 0, root, EQUAL)
    while stack.used:
        stack.used -= 1
        span = stack.spans[stack.used]
        if span.side == LOW:
            nodes[span.parent].low = used
        elif span.side == HIGH:
            nodes[span.parent].high = used
        else:
            nodes[span.parent].behind = NODES
        middle = span.first + (span.end - span.first) // 2
        byte = _byte(keys, middle, span.depth)
        same = _boundary(keys, span.first, middle, span.depth, byte, False)
        same_end = _boundary(keys, middle + 1, span.end, span.depth, byte, True)
        _push(stack, same_end, span.end, span.depth, used, HIGH)
        _push(stack, span.first, same, span.depth, used, LOW)
        nodes[used] = Node(0, 0, NOWHERE, byte, NOTHING, 0)
        if _length(keys, same) == span.depth + 1:
            nodes[used].entry = same
            same += 1
        elif same + 1 == same_end:
            nodes[used].entry = same
            nodes[used].behind = TAIL
            same += 1
        _push(stack, same, same_end, span.depth + 1, used, EQUAL)  # last on the stack, so the next node
        used += 1
    return used


cdef inline uint32_t _boundary(const Keys *keys, uint32_t first, uint32_t end, uint32_t depth, uint8_t byte,
                               bint is_above) noexcept nogil:
    """Return the first entry whose byte is not below `byte`, or is above it."""
    cdef uint32_t half
    while first < end:
        half = first + (end - first) // 2
        if <int> _byte(keys, half, depth) < <int> byte + is_above:
            first = half + 1
        else:
            end = half
    return first


cdef int _push(Stack *stack, uint32_t first, uint32_t end, uint32_t depth, uint32_t parent, Side side) except -1 nogil:
    cdef void *larger
    if first >= end:
        return 0
    if stack.used == stack.room:
        larger = PyMem_RawRealloc(stack.spans, (2 * stack.room + 64) * sizeof(Span))
        if larger == NULL:
            with gil:
                raise MemoryError
        stack.spans = <Span *> larger
        stack.room = 2 * stack.room + 64
    stack.spans[stack.used] = Span(first, end, depth, parent, side)
    stack.used += 1
    return 0
