"""Traversal: which nodes are reached from a node, and by which shortest paths? Room for it, used again and again."""

from __future__ import annotations

import numpy as np

from cbnet._kernels import tree_shortest as kernel
from cbnet.topology.graph.graph import Ids, Lengths

UNREACHED = -2


class Traversal:
    """Shortest paths over the links of a graph, in rows, from one root after the other.

    What one root reached is in the way of the next, until it is forgotten.
    """

    def __init__(self, offsets: Lengths, targets: Ids, weights: Lengths) -> None:
        """Take where the links of each node begin, where they lead, and their lengths; none if all are 1."""
        n = len(offsets) - 1
        self.parents: Ids = np.full(n, UNREACHED, dtype=np.int32)
        self.distances: Lengths = np.full(n, -1, dtype=np.int64)
        self._rows = offsets, targets, weights
        self._order = np.empty(n, dtype=np.int32)
        self._room = np.empty((2, n), dtype=np.int32)

    def visit(self, root: int) -> Ids:
        """Return the nodes that are reached from a root, itself the first, by rising distance; valid until the next."""
        reached = kernel.grow(*self._rows, root, self.parents, self.distances, self._order, self._room)
        return self._order[:reached]

    def reset(self, nodes: Ids) -> None:
        """Let nodes be reached again."""
        self.parents[nodes] = UNREACHED
        self.distances[nodes] = -1
