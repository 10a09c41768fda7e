"""Shortest-path trees of a graph, and the paths on them.

A graph is in rows (CSR): the neighbours of node u are targets[offsets[u] : offsets[u + 1]].
If `weights` is empty every edge has length 1. Weights are positive. Links are numbered from 0 to m - 1.

    parents    -2 not reached, -1 the root, else the smallest neighbour on a shortest path from the root
    distances  -1 not reached
    order      the nodes reached, by ascending distance: a parent precedes its children

The caller fills `parents` with -2 and `distances` with -1. A node that is already reached is not
changed, so growing one tree after the other over the same arrays finds the components of a graph.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

from cbnet._kernels.arrays cimport first_not_below

cdef enum:
    ROOT = -1
    UNREACHED = -2


cdef struct Rows:
    const int64_t *offsets
    const int32_t *targets
    const int64_t *weights  # NULL: every edge has length 1


# Nodes by distance, in a binary heap: no node is nearer than its parent. nodes[0] is the nearest; the children
# of place i are at 2i + 1 and 2i + 2.
cdef struct Heap:
    int32_t *nodes
    int32_t *places  # of each node in the heap
    int32_t size


cdef inline void _put(Heap *heap, int32_t place, int32_t node) noexcept nogil:
    heap.nodes[place] = node
    heap.places[node] = place


cdef void _rise(Heap *heap, const int64_t *distances, int32_t place) noexcept nogil:
    """Move the node at a place up until its parent is not farther."""
    cdef int32_t node = heap.nodes[place]
    cdef int32_t above
    while place:
        above = (place - 1) >> 1
        if distances[heap.nodes[above]] <= distances[node]:
            break
        _put(heap, place, heap.nodes[above])
        place = above
    _put(heap, place, node)


cdef int32_t _nearest(Heap *heap, const int64_t *distances) noexcept nogil:
    """Remove the nearest node."""
    cdef int32_t nearest = heap.nodes[0]
    cdef int32_t node, below
    cdef int32_t place = 0
    heap.size -= 1
    if heap.size == 0:
        return nearest
    node = heap.nodes[heap.size]
    while True:
        below = 2 * place + 1
        if below >= heap.size:
            break
        if below + 1 < heap.size and distances[heap.nodes[below + 1]] < distances[heap.nodes[below]]:
            below += 1
        if distances[node] <= distances[heap.nodes[below]]:
            break
        _put(heap, place, heap.nodes[below])
        place = below
    _put(heap, place, node)
    return nearest


cdef int32_t _grow_by_hops(const Rows *rows, int32_t root, int32_t *parents, int64_t *distances,
                           int32_t *order) noexcept nogil:
    """Grow a tree over edges of length 1; return the number of nodes reached. `order` is also the queue."""
    cdef int32_t done = 0
    cdef int32_t found = 1
    cdef int32_t node, neighbour
    cdef int64_t at, distance
    parents[root] = ROOT
    distances[root] = 0
    order[0] = root
    while done < found:
        node = order[done]
        done += 1
        distance = distances[node] + 1
        for at in range(rows.offsets[node], rows.offsets[node + 1]):
            neighbour = rows.targets[at]
            if parents[neighbour] == UNREACHED:
                parents[neighbour] = node
                distances[neighbour] = distance
                order[found] = neighbour
                found += 1
            elif node < parents[neighbour] and distances[neighbour] == distance:
                parents[neighbour] = node
    return found


cdef int32_t _grow_by_weights(const Rows *rows, int32_t root, int32_t *parents, int64_t *distances,
                              int32_t *order, Heap *heap) noexcept nogil:
    """Grow a tree by Dijkstra's algorithm; return the number of nodes reached.

    Weights are positive, so all neighbours on shortest paths to a node leave the heap before it: when it
    leaves, its parent is the smallest of them.
    """
    cdef int32_t found = 0
    cdef int32_t node, neighbour
    cdef int64_t at, distance
    parents[root] = ROOT
    distances[root] = 0
    heap.size = 1
    _put(heap, 0, root)
    while heap.size:
        node = _nearest(heap, distances)
        order[found] = node
        found += 1
        for at in range(rows.offsets[node], rows.offsets[node + 1]):
            neighbour = rows.targets[at]
            distance = distances[node] + rows.weights[at]
            if parents[neighbour] == UNREACHED:
                _put(heap, heap.size, neighbour)
                heap.size += 1
            elif distance >= distances[neighbour]:
                if distance == distances[neighbour] and node < parents[neighbour]:
                    parents[neighbour] = node
                continue
            parents[neighbour] = node
            distances[neighbour] = distance
            _rise(heap, distances, heap.places[neighbour])
    return found


cdef int32_t _grow(const Rows *rows, int32_t root, int32_t *parents, int64_t *distances, int32_t *order,
                   Heap *heap) noexcept nogil:
    if rows.weights == NULL:
        return _grow_by_hops(rows, root, parents, distances, order)
    return _grow_by_weights(rows, root, parents, distances, order, heap)


cdef Rows _rows(const int64_t[::1] offsets, const int32_t[::1] targets, const int64_t[::1] weights) noexcept:
    cdef Rows rows
    rows.offsets = &offsets[0]
    rows.targets = &targets[0] if targets.shape[0] else NULL
    rows.weights = &weights[0] if weights.shape[0] else NULL
    return rows


def grow(const int64_t[::1] offsets, const int32_t[::1] targets, const int64_t[::1] weights, int32_t root,
         int32_t[::1] parents, int64_t[::1] distances, int32_t[::1] order, int32_t[:, ::1] room):
    """Write parents, distances and order of one tree; return the number of nodes reached.

    offsets: int64[n + 1], targets: int32[2m], weights: int64[2m] or int64[0], parents, order: int32[n],
    distances: int64[n], room: int32[2, n], working memory.
    """
    cdef Rows rows = _rows(offsets, targets, weights)
    cdef Heap heap = Heap(&room[0, 0], &room[1, 0], 0)
    cdef int32_t found
    with nogil:
        found = _grow(&rows, root, &parents[0], &distances[0], &order[0], &heap)
    return found


def grow_many(const int64_t[::1] offsets, const int32_t[::1] targets, const int64_t[::1] weights,
              const int32_t[::1] roots, int32_t[:, ::1] parents, int64_t[:, ::1] distances, int32_t[:, ::1] room):
    """Write the parents and distances in the tree of each root, a row per root.

    parents: int32[roots, n], distances: int64[roots, n]; one of the two may have a single row, which
    is then working memory. room: int32[3, n], working memory.
    """
    cdef Rows rows = _rows(offsets, targets, weights)
    cdef Heap heap = Heap(&room[0, 0], &room[1, 0], 0)
    cdef Py_ssize_t parent_step = 1 if parents.shape[0] == roots.shape[0] else 0
    cdef Py_ssize_t distance_step = 1 if distances.shape[0] == roots.shape[0] else 0
    cdef Py_ssize_t row, node
    with nogil:
        for row in range(roots.shape[0]):
            for node in range(parents.shape[1]):
                parents[row * parent_step, node] = UNREACHED
                distances[row * distance_step, node] = -1
            _grow(&rows, roots[row], &parents[row * parent_step, 0], &distances[row * distance_step, 0], &room[2, 0],
                  &heap)


def lay_out(const int32_t[::1] parents, const int32_t[::1] order, int32_t[::1] preorder, int32_t[::1] places,
            int32_t[::1] sizes, int32_t[::1] hops, int32_t[::1] room):
    """Write the place of each node of a tree in preorder, children by ascending id.

    parents: int32[n], order: int32[reached], a parent before its children. preorder: int32[reached];
    places, hops: int32[n] of -1, sizes: int32[n] of 0; room: int32[n], working memory.
    """
    cdef Py_ssize_t at
    cdef int32_t node, parent
    with nogil:
        for at in range(order.shape[0]):
            node = order[at]
            sizes[node] = 1
            hops[node] = 0 if at == 0 else hops[parents[node]] + 1
        for at in range(order.shape[0] - 1, 0, -1):
            sizes[parents[order[at]]] += sizes[order[at]]
        # `room` holds the place of the next child of a node, relative to the node
        for node in range(<int32_t> parents.shape[0]):
            room[node] = 1
        for node in range(<int32_t> parents.shape[0]):
            parent = parents[node]
            if parent >= 0:
                places[node] = room[parent]
                room[parent] += sizes[node]
        for at in range(order.shape[0]):
            node = order[at]
            places[node] = 0 if at == 0 else places[node] + places[parents[node]]
            preorder[places[node]] = node


def add_dependencies(const int64_t[::1] offsets, const int32_t[::1] targets, const int64_t[::1] weights,
                     const int64_t[::1] distances, const int32_t[::1] order, long double[::1] paths,
                     double[::1] depend, double[::1] totals):
    """Add to `totals` the dependency of the shortest paths from a root on each node between.

    A neighbour p precedes x if distances[p] + weight = distances[x]; then the paths to p continue to x.
    distances, order: as written by `grow`. paths, depend: working memory for n numbers. Paths are counted in
    long doubles: across a grid of 600 x 600 there are more of them than a double can hold.
    """
    cdef bint is_unit = weights.shape[0] == 0
    cdef Py_ssize_t place
    cdef int64_t at
    cdef int32_t node, other
    cdef long double share
    with nogil:
        for place in range(order.shape[0]):
            node = order[place]
            depend[node] = 0
            paths[node] = 1 if place == 0 else 0
            for at in range(offsets[node], offsets[node + 1]):
                other = targets[at]
                if distances[other] + (1 if is_unit else weights[at]) == distances[node]:
                    paths[node] += paths[other]
        for place in range(order.shape[0] - 1, 0, -1):
            node = order[place]
            totals[node] += depend[node]
            share = (1 + depend[node]) / paths[node]
            for at in range(offsets[node], offsets[node + 1]):
                other = targets[at]
                if distances[other] + (1 if is_unit else weights[at]) == distances[node]:
                    depend[other] += <double> (paths[other] * share)


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
    with nogil:
        for node in range(parents.shape[0]):
            links[node] = -1
            if parents[node] < 0:
                continue
            links[node] = numbers[first_not_below(&targets[0], offsets[node], offsets[node + 1] - 1, parents[node])]


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
