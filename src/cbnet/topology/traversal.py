"""Traversal of a graph: shortest paths from sampled sources, components and bridges.

Measuring from all nodes of a large graph takes minutes; a few hundred random ones give almost the same result. With
a sample as large as the graph, all nodes are sources and the result is exact.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cbnet._kernels import tree_paths as kernel
from cbnet.errors import InputError
from cbnet.topology.graph import Graph, Ids, Lengths

UNREACHED = -2
DEFAULT_SOURCES = 500


def reachable(start: str, links: Iterable[tuple[str, str]]) -> set[str]:
    """Return the nodes that can be reached over links given by the names of their ends, including the start."""
    neighbours: dict[str, list[str]] = {}
    for a, b in links:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    reached, queue = {start}, [start]
    for name in queue:  # grows during the loop
        new = [each for each in neighbours.get(name, ()) if each not in reached]
        reached.update(new)
        queue += new
    return reached


class Traversal:
    """Shortest paths over the links of a graph, from one root after the other.

    Nodes visited from one root are not visited again until they are reset.
    """

    def __init__(self, offsets: Lengths, targets: Ids, weights: Lengths) -> None:
        """Prepare for the links in `Graph.rows`; without weights, every length is 1."""
        n = len(offsets) - 1
        self.parents: Ids = np.full(n, UNREACHED, dtype=np.int32)
        self.distances: Lengths = np.full(n, -1, dtype=np.int64)
        self._rows = offsets, targets, weights
        self._order = np.empty(n, dtype=np.int32)
        self._buffer = np.empty((2, n), dtype=np.int32)

    def visit(self, root: int) -> Ids:
        """Return the nodes reached from a root by ascending distance, the root first; valid until the next call."""
        reached = kernel.grow(*self._rows, root, self.parents, self.distances, self._order, self._buffer)
        return self._order[:reached]

    def reset(self, nodes: Ids) -> None:
        """Mark nodes as not visited."""
        self.parents[nodes] = UNREACHED
        self.distances[nodes] = -1


def components(graph: Graph) -> list[Ids]:
    """Return the nodes of each component, ascending; largest component first, ties by the smallest node."""
    traversal = Traversal(graph.offsets, graph.targets, graph.weights[:0])
    parts = [np.sort(traversal.visit(root)) for root in range(len(graph)) if traversal.parents[root] == UNREACHED]
    return sorted(parts, key=len, reverse=True)


def largest_component(graph: Graph) -> Graph:
    """Return the graph of the largest component; of equal ones, that with the smallest node."""
    nodes = np.zeros(len(graph), dtype=bool)
    nodes[components(graph)[0]] = True
    return graph.part(nodes)


def bridges(graph: Graph) -> list[tuple[int, int]]:
    """Return every edge whose removal separates its ends, as (smaller, larger), ascending.

    One depth-first search (Tarjan): an edge down to a node is a bridge if no edge from the node or below it leads back
    above it. `low` is the earliest node, in the order of the search, that such edges reach.
    """
    offsets, targets = graph.offsets.tolist(), graph.targets.tolist()
    step = 0
    order = [-1] * len(graph)
    low = [0] * len(graph)
    unread = offsets[:-1]  # the offset of the next neighbour of each node
    edges = []
    for root in range(len(graph)):
        path = [root] if order[root] < 0 else []  # from the root to the current node
        while path:
            node = path[-1]
            above = path[-2] if len(path) > 1 else -1
            if order[node] < 0:
                order[node] = low[node] = step
                step += 1
            if unread[node] == offsets[node + 1]:
                path.pop()
                if above >= 0:
                    low[above] = min(low[above], low[node])
                    if low[node] > order[above]:
                        edges.append((min(node, above), max(node, above)))
                continue
            neighbour = targets[unread[node]]
            unread[node] += 1
            if order[neighbour] < 0:
                path.append(neighbour)
            elif neighbour != above:
                low[node] = min(low[node], order[neighbour])
    return sorted(edges)


def check_seed(seed: int) -> None:
    """Raise an error for a negative seed."""
    if seed < 0:
        raise InputError(f"the seed must be an integer of at least 0, not {seed}")


def sample_sources(graph: Graph, count: int | None, seed: int) -> list[int]:
    """Return `count` distinct random nodes; all nodes if there are no more, or if it is None."""
    check_seed(seed)
    if count is None or count >= len(graph):
        return [*range(len(graph))]
    if count < 1:
        raise InputError(f"the number of sources must be at least 1, not {count}")
    drawn = np.random.default_rng(seed).choice(len(graph), count, replace=False)
    return [*map(int, np.sort(drawn))]
