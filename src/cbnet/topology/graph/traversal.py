"""Traversal of a graph along shortest paths, with reusable buffers."""

from __future__ import annotations

import numpy as np

from cbnet._kernels import tree_shortest as kernel
from cbnet.topology.graph.graph import Ids, Lengths

UNREACHED = -2


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
