"""Measures of k trees over a graph: extra length, load of links, distinct trees at interfaces [2014 §3, §4.1].

The extra length of a pair on a tree is its distance on the tree minus its distance in the graph. Over k trees a
pair has an average (a message takes any of them) and a largest (it takes the worst). One source is measured
against all nodes at a time, in one pass over each tree.

Every node sends one message to every other, n (n - 1) in all; each takes a random tree, all with the same chance. The
load of a link is the average number of messages that cross it. On one tree, all messages between the nodes below a
link and the others cross it, in both directions: 2 · size · (n - size) messages.

Behind an interface, on one tree, is a set of destinations: all nodes that the tree reaches through it. Trees
with the same set share one entry [2014 §3.2.2, Figure 5]. So the number of distinct trees of an interface is the number
of distinct sets behind it over the k trees. A tree that does not use the link has no entry and does not count. The two
ends of a link have complementary sets, so both have the same number. A set is identified by the exclusive or of random
128-bit keys of its nodes. Two different sets have the same sum with probability 2**-128. With 128 trees over 121,309
links fewer than 2**30 pairs are compared: the probability of any collision is below 2**-98.

Measures for k trees use the first k of a list, so several numbers of trees are measured in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cbnet._kernels import tree_paths
from cbnet.errors import InputError
from cbnet.topology.graph import Graph, Ids, Lengths
from cbnet.topology.shortest_paths import Tree, distances, interface_links, tree_links


def tree_increments(
    graph: Graph, trees: Sequence[Tree], ks: Sequence[int] | None
) -> Iterator[tuple[int, Sequence[Tree]]]:
    """Yield each k with the trees that it adds to those of the previous k; None stands for all trees at once.

    The numbers must ascend, and every tree must span the graph.
    """
    ends = [0, *([len(trees)] if ks is None else ks)]
    if any(one >= other for one, other in pairwise(ends)) or ends[-1] > len(trees):
        raise InputError(f"the numbers of trees must ascend from 1 to at most {len(trees)}, not {ends[1:]}")
    for tree in trees:
        if len(tree.preorder) < len(graph):
            hint = "use the largest component of the graph"
            raise InputError(f"the tree of {graph.name(tree.root)} does not reach all nodes", hint=hint)
    return ((k, trees[start:k]) for start, k in pairwise(ends))


def distinct_trees(
    graph: Graph, trees: Sequence[Tree], ks: Sequence[int] | None = None, *, seed: int = 0
) -> Iterator[Ids]:
    """Yield the number of distinct trees of each interface, 0 if no tree uses it: int32[2m].

    Of the first k trees, for each k; of all if `ks` is None. `seed` selects the keys of the nodes.
    """
    n = len(graph)
    keys = _keys(n, seed)
    links = interface_links(graph)
    heads = np.full(graph.edge_count, -1, dtype=np.int32)
    counts = np.zeros(graph.edge_count, dtype=np.int32)
    nexts, sums = np.empty(n, dtype=np.int32), np.empty((n, 2), dtype=np.uint64)
    used = 0
    for _, added in tree_increments(graph, trees, ks):
        for tree in added:
            if len(nexts) < used + n:
                nexts, sums = np.concatenate([nexts, nexts]), np.concatenate([sums, sums])  # double the capacity
            by = tree_links(graph, tree, links)
            used = tree_paths.add_sets(tree.preorder, tree.parents, by, keys.copy(), heads, nexts, sums, counts, used)
        yield counts[links]


def _keys(n: int, seed: int) -> NDArray[np.uint64]:
    """Return a random key of 128 bits for each node: uint64[n, 2]."""
    return np.random.default_rng(seed).integers(2**64, size=(n, 2), dtype=np.uint64)


def link_load(graph: Graph, trees: Sequence[Tree], ks: Sequence[int] | None = None) -> Iterator[NDArray[np.float64]]:
    """Yield the load of each link, in the order of `Graph.edges`, 0 if no tree uses it: float64[m].

    On the first k trees, for each k; on all if `ks` is None.
    """
    links = interface_links(graph)
    crossed = np.zeros(graph.edge_count, dtype=np.int64)
    for k, added in tree_increments(graph, trees, ks):
        for tree in added:
            below = tree.sizes.astype(np.int64)
            by = tree_links(graph, tree, links)
            inner = by >= 0
            crossed[by[inner]] += (2 * below * (len(graph) - below))[inner]  # a tree uses a link at most once
        yield crossed / k


@dataclass(frozen=True, eq=False)
class ExtraLengths:
    """The extra lengths of the paths from one source to each node on k trees, times the graph's `scale`."""

    source: int
    k: int
    total: Lengths  # int64[n], of all trees together; 0 at the source
    largest: Lengths  # int64[n], on the worst tree; 0 at the source

    @property
    def mean(self) -> float:
        """The average over trees and destinations."""
        return int(self.total.sum()) / (self.k * max(1, len(self.total) - 1))

    @property
    def mean_largest(self) -> float:
        """The average of the largest over destinations."""
        return int(self.largest.sum()) / max(1, len(self.largest) - 1)


def extra_lengths(
    graph: Graph, trees: Sequence[Tree], source: int, ks: Sequence[int] | None = None
) -> Iterator[ExtraLengths]:
    """Yield the extra lengths from a source on the first k trees, for each k; on all trees if `ks` is None."""
    shortest = distances(graph, [source])[0]
    buffer = np.empty(len(graph), dtype=np.int64)
    total, longest = np.zeros((2, len(graph)), dtype=np.int64)
    for k, added in tree_increments(graph, trees, ks):
        for tree in added:
            tree_paths.add_lengths(
                tree.parents, tree.positions, tree.sizes, tree.distances, source, buffer, total, longest
            )
        yield ExtraLengths(source, k, total - k * shortest, longest - shortest)
