"""The reference of trees: what do their paths, sets and loads mean, in plain Python?

Slow, and close to the definitions: the kernels must give the same, and the tests ask both. A tree is its parents;
it spans the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, permutations

from support.graph_reference import reference_distances

from cbnet.topology.graph import Graph
from cbnet.topology.shortest_paths import ROOT

Parents = Sequence[int]
_64_BITS = 2**64 - 1


def reference_tree_path(parents: Parents, source: int, target: int) -> list[int]:
    """Return the nodes from source to target: up from both, as far as they meet."""
    up, down = _ancestors(parents, source), _ancestors(parents, target)
    turn = next(node for node in up if node in down)
    return up[: up.index(turn) + 1] + down[: down.index(turn)][::-1]


def _ancestors(parents: Parents, node: int) -> list[int]:
    way = [node]
    while parents[way[-1]] != ROOT:
        way.append(parents[way[-1]])
    return way


def reference_extra_lengths(graph: Graph, parents: Parents, source: int) -> list[int]:
    """Return, for each node, the length of the path on a tree less the distance in the graph."""
    paths = (reference_tree_path(parents, source, target) for target in range(len(graph)))
    lengths = (sum(graph.weight(u, v) for u, v in pairwise(path)) for path in paths)
    return [length - shortest for length, shortest in zip(lengths, reference_distances(graph, source), strict=True)]


def reference_distinct_trees(graph: Graph, trees: Sequence[Parents]) -> list[int]:
    """Return, for each interface, how many different sets of destinations the trees have behind it."""
    nodes = range(len(graph))
    found: dict[tuple[int, int], set[frozenset[int]]] = {(u, int(v)): set() for u in nodes for v in graph.neighbours(u)}
    for parents in trees:
        behind: dict[tuple[int, int], set[int]] = {}
        for source, target in permutations(nodes, 2):
            first = reference_tree_path(parents, source, target)[1]
            behind.setdefault((source, first), set()).add(target)
        for interface, destinations in behind.items():
            found[interface].add(frozenset(destinations))
    return [len(sets) for sets in found.values()]


def reference_link_load(graph: Graph, trees: Sequence[Parents]) -> list[float]:
    """Return, for each link, how many ordered pairs of nodes have it on their path, on average over the trees."""
    crossed: Counter[frozenset[int]] = Counter()
    for parents in trees:
        for source, target in permutations(range(len(graph)), 2):
            crossed.update(map(frozenset, pairwise(reference_tree_path(parents, source, target))))
    return [crossed[frozenset((u, v))] / len(trees) for u, v, _ in graph.edges()]


def reference_chosen_parents(graph: Graph, root: int, key: int) -> list[int]:
    """Return the parents in a random tree: of the neighbours on shortest paths, the one of the lowest lot."""
    distances = reference_distances(graph, root)

    def parent(x: int) -> int:
        if x == root:
            return ROOT
        lots = _mixed(key + x)
        neighbours: list[int] = graph.neighbours(x).tolist()
        before = [p for p in neighbours if distances[p] + graph.weight(p, x) == distances[x]]
        return min(before, key=lambda p: _mixed(lots + p))

    return [parent(x) for x in range(len(graph))]


def _mixed(bits: int) -> int:
    """Spread a number over 64 bits (the last steps of SplitMix64)."""
    bits &= _64_BITS
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & _64_BITS
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & _64_BITS
    return bits ^ (bits >> 31)
