"""Paths on trees: the link to a node's parent, distances from a source, and the nodes on each side of a link.

A tree is laid out as by `tree_shortest`: parents (-1 at the root), preorder, places, sizes and distances from
the root. It spans the graph, which is in rows as there. Links are numbered from 0 to m - 1.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t


cdef inline uint64_t _mixed(uint64_t bits) noexcept nogil:
    """Spread a number over 64 bits (the last steps of SplitMix64)."""
    bits = (bits ^ (bits >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    bits = (bits ^ (bits >> 27)) * <uint64_t> 0x94D049BB133111EB
    return bits ^ (bits >> 31)


def choose_parents(const int64_t[::1] offsets, const int32_t[::1] targets, const int64_t[::1] weights,
                   const int64_t[::1] distances, uint64_t key, int32_t[::1] parents):
    """Write for each node one of its neighbours on shortest paths from the root, at random.

    The neighbour with the smallest hash of key, node and neighbour is chosen: each is equally likely. Nodes
    without such a neighbour are not changed.
    """
    cdef bint is_unit = weights.shape[0] == 0
    cdef int32_t node, other, chosen
    cdef int64_t at
    cdef uint64_t lots, lot, lowest
    with nogil:
        for node in range(<int32_t> parents.shape[0]):
            lots = _mixed(key + <uint64_t> node)
            chosen = -1
            lowest = 0
            for at in range(offsets[node], offsets[node + 1]):
                other = targets[at]
                if distances[other] + (1 if is_unit else weights[at]) != distances[node]:
                    continue
                lot = _mixed(lots + <uint64_t> other)
                if chosen < 0 or lot < lowest:
                    chosen = other
                    lowest = lot
            if chosen >= 0:
                parents[node] = chosen


def find_links(const int64_t[::1] offsets, const int32_t[::1] targets, const int32_t[::1] numbers,
               const int32_t[::1] parents, int32_t[::1] links):
    """Write the link from each node to its parent; -1 at the root.

    numbers: int32[2m], of the link from each node to each neighbour, in rows as `targets`.
    """
    cdef Py_ssize_t node
    cdef int64_t first, last, middle
    with nogil:
        for node in range(parents.shape[0]):
            links[node] = -1
            if parents[node] < 0:
                continue
            first = offsets[node]
            last = offsets[node + 1] - 1
            while first < last:
                middle = (first + last) >> 1
                if targets[middle] < parents[node]:
                    first = middle + 1
                else:
                    last = middle
            links[node] = numbers[first]


def add_lengths(const int32_t[::1] parents, const int32_t[::1] places, const int32_t[::1] sizes,
                const int64_t[::1] distances, int32_t source, int64_t[::1] turns, int64_t[::1] total,
                int64_t[::1] longest):
    """Add to `total` the length of the path from a source to each node on a tree; keep the longest.

    The path to x turns at the lowest common ancestor. In preorder the nodes with the same turn, which is
    an ancestor of the source, are adjacent, before and after those with a lower one:

        root  …  a  …  source  and all below  …  after  …  after
        │        │     └─ turn: the source ─┘       │        │
        │        └──────── turn: a ─────────────────┘        │
        └───────────────── turn: the root ───────────────────┘

    turns: int64[n], working memory: twice the distance of the turn, by place.
    """
    cdef int32_t node = source
    cdef int32_t begin, end, first, last, place
    cdef Py_ssize_t x
    cdef int64_t length
    with nogil:
        first = last = places[source]  # the range of places done
        while node >= 0:
            begin = places[node]
            end = begin + sizes[node]
            length = distances[source] - 2 * distances[node]
            for place in range(begin, first):
                turns[place] = length
            for place in range(last, end):
                turns[place] = length
            first = begin
            last = end
            node = parents[node]
        for x in range(parents.shape[0]):
            length = distances[x] + turns[places[x]]
            total[x] += length
            longest[x] = length if length > longest[x] else longest[x]


# The sets of nodes found on one side of each link, in lists. A set is the exclusive or of the keys of its
# nodes; of a link's two sides it is the one with the link's larger end.
#
#     heads  │ 4 -1  0 …   int32[m]: the last set of each link, -1 none
#     nexts  │-1  …  0  …  int32[room]: the set before it, of the same link
#     sums   │ s0 s1 …     uint64[room, 2]
def add_sets(const int32_t[::1] preorder, const int32_t[::1] parents, const int32_t[::1] links,
             uint64_t[:, ::1] below, int32_t[::1] heads, int32_t[::1] nexts, uint64_t[:, ::1] sums,
             int32_t[::1] counts, int32_t used):
    """Add the new sets of nodes on the sides of a tree's links; return the number of sets.

    below: uint64[n, 2], a copy of the nodes' keys, overwritten; counts: int32[m], sets of each link; used: the
    number of sets so far. There must be room for n more.
    """
    cdef Py_ssize_t at
    cdef int32_t node, link, found
    cdef uint64_t one, other
    cdef int32_t root = preorder[0]
    with nogil:
        for at in range(preorder.shape[0] - 1, 0, -1):
            node = preorder[at]
            below[parents[node], 0] ^= below[node, 0]
            below[parents[node], 1] ^= below[node, 1]
        for at in range(1, preorder.shape[0]):
            node = preorder[at]
            one = below[node, 0]
            other = below[node, 1]
            if node < parents[node]:
                one ^= below[root, 0]
                other ^= below[root, 1]
            link = links[node]
            found = heads[link]
            while found >= 0 and (sums[found, 0] != one or sums[found, 1] != other):
                found = nexts[found]
            if found < 0:
                sums[used, 0] = one
                sums[used, 1] = other
                nexts[used] = heads[link]
                heads[link] = used
                counts[link] += 1
                used += 1
    return used
