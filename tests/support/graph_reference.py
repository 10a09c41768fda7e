"""The reference: what do trees and betweenness mean, in plain Python?

Slow, and close to the definitions: the kernels must give the same, and the tests ask both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cbnet.topology.graph import Graph
from cbnet.topology.shortest_paths import ROOT
from cbnet.topology.traversal import UNREACHED


def reference_distances(graph: Graph, root: int) -> list[int]:
    """Return the distances from a root; -1 where there is no path. Edges are tried until none makes a path shorter."""
    edges = [*graph.edges()]
    edges += [(v, u, weight) for u, v, weight in edges]
    found = {root: 0}
    shorter = True
    while shorter:
        shorter = False
        for u, v, weight in edges:
            if u in found and found[u] + weight < found.get(v, found[u] + weight + 1):
                found[v] = found[u] + weight
                shorter = True
    return [found.get(node, -1) for node in range(len(graph))]


def reference_parents(graph: Graph, root: int) -> list[int]:
    """Return the parents in the tree of a root, by the rule of `trees`, word by word."""
    distances = reference_distances(graph, root)

    def parent(x: int) -> int:
        if x == root:
            return ROOT
        neighbours = graph.neighbours(x).tolist()
        return min((p for p in neighbours if distances[p] + graph.weight(p, x) == distances[x]), default=UNREACHED)

    return [UNREACHED if distances[x] < 0 else parent(x) for x in range(len(graph))]


def reference_preorder(parents: Sequence[int], node: int) -> Iterator[int]:
    """Yield a node and all below it, children by rising id."""
    yield node
    for child, parent in enumerate(parents):
        if parent == node:
            yield from reference_preorder(parents, child)


def reference_betweenness(graph: Graph) -> list[float]:
    """Return the betweenness of each node: for each pair, the share of its shortest paths through the node."""
    nodes = range(len(graph))
    distances = [reference_distances(graph, node) for node in nodes]
    paths = [_path_counts(graph, distances[source], source) for source in nodes]
    totals = [0.0 for _ in nodes]
    for s in nodes:
        for t in nodes:
            for v in nodes:
                apart = s != t and v not in (s, t) and min(distances[s][t], distances[s][v]) >= 0
                if apart and distances[s][v] + distances[v][t] == distances[s][t]:
                    totals[v] += paths[s][v] * paths[v][t] / paths[s][t]
    return [total / max(1, (len(graph) - 1) * (len(graph) - 2)) for total in totals]


def _path_counts(graph: Graph, distances: Sequence[int], source: int) -> dict[int, int]:
    """Return how many shortest paths lead from the source to each node that it reaches."""
    counts = {source: 1}
    for x in sorted((x for x in range(len(graph)) if distances[x] > 0), key=distances.__getitem__):
        neighbours = graph.neighbours(x).tolist()
        counts[x] = sum(counts[p] for p in neighbours if distances[p] + graph.weight(p, x) == distances[x])
    return counts
