"""Number of distinct trees at each interface of a router [2014 §3.2.2, Figure 5].

Behind an interface, on one tree, is a set of destinations: all nodes that the tree reaches through it. Trees
with the same set share one entry. So the number of distinct trees of an interface is the number of distinct sets
behind it over the k trees. A tree that does not use the link has no entry and does not count.

The two ends of a link have complementary sets, so both have the same number.

A set is identified by the exclusive or of random 128-bit keys of its nodes. Two different sets have
the same sum with probability 2**-128. With 128 trees over 121,309 links fewer than 2**30 pairs are
compared: the probability of any collision is below 2**-98.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cbnet._kernels import tree_paths
from cbnet.topology.graph.graph import Graph, Ids
from cbnet.topology.trees.increments import tree_increments
from cbnet.topology.trees.links import interface_links, tree_links
from cbnet.topology.trees.shortest_paths import Tree


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
