"""Stretch: extra length of paths on trees, compared with the graph [2014 §3.1, §4.1].

The extra length of a pair on a tree is its distance on the tree minus its distance in the graph. Over k trees a
pair has an average (a message takes any of them) and a largest (it takes the worst). One source is measured
against all nodes at a time, in one pass over each tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cbnet._kernels import tree_paths
from cbnet.topology.graph.graph import Graph, Lengths
from cbnet.topology.trees.increments import tree_increments
from cbnet.topology.trees.shortest_paths import Tree, distances


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
