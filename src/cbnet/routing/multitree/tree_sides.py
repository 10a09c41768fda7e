"""The nodes behind each neighbour of a router on an undirected tree [2014 §3].

From router u, a tree splits into one side per neighbour: the subtree of each child, and the rest behind the parent. In
preorder a side is one slice or two:

    items     ┌─────────┬───┬────────┬──────┬──────────┐    receivers, or owners of descriptors, in preorder
              │ parent  │ u │ child  │ child│  parent  │
              └─────────┴───┴────────┴──────┴──────────┘

Empty sides are left out: a router needs no entry for them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import ROOT, Tree

Ids: TypeAlias = NDArray[np.int32]
Rows: TypeAlias = NDArray[np.int64]


class TreeSides:
    """Items at the nodes of a tree, by side of every router; a node may have several items."""

    def __init__(self, tree: Tree, nodes: Ids) -> None:
        """Sort the items into preorder; nodes: int32[items]."""
        self.tree = tree
        at = tree.positions[nodes]
        self.order: Rows = np.argsort(at, kind="stable")
        self._at = at[self.order]

    def behind(self, u: int) -> dict[int, Rows]:
        """Return the neighbours of u with items behind them, ascending, and the rows of these items in `nodes`."""
        children = self.tree.children(u)
        first, end = self._slices(children)
        kept = first < end
        sides = [
            (w, self.order[a:b])
            for w, a, b in zip(children[kept].tolist(), first[kept].tolist(), end[kept].tolist(), strict=True)
        ]
        above = self.above(u)
        if len(above):
            sides.append((int(self.tree.parents[u]), above))
        return dict(sorted(sides, key=lambda side: side[0]))

    def side(self, u: int, w: int) -> Rows:
        """Return the items behind the neighbour w of u."""
        return self.below(w) if self.tree.parents[w] == u else self.above(u)

    def below(self, u: int) -> Rows:
        """Return the items at u and below."""
        first, end = self._slices(np.array([u]))
        return self.order[first[0] : end[0]]

    def above(self, u: int) -> Rows:
        """Return the items behind the parent of u; none if u is the root."""
        if self.tree.parents[u] == ROOT:
            return self.order[:0]
        first, end = self._slices(np.array([u]))
        return np.concatenate([self.order[: first[0]], self.order[end[0] :]])

    def _slices(self, nodes: NDArray[np.integer]) -> tuple[Rows, Rows]:
        """Return the slices of `order` with the items at and below each node."""
        positions = self.tree.positions[nodes]
        return np.searchsorted(self._at, positions), np.searchsorted(self._at, positions + self.tree.sizes[nodes])


def lengths_on_tree(tree: Tree, u: int, nodes: Ids) -> Rows:
    """Return the lengths of the paths from u to some nodes on a tree: int64[nodes]."""
    shared = np.zeros(len(nodes), dtype=np.int64)  # from the root to the lowest common ancestor
    for ancestor in tree.path(u):
        below = tree.positions[nodes] - tree.positions[ancestor]
        shared[(below >= 0) & (below < tree.sizes[ancestor])] = tree.distances[ancestor]
    lengths: Rows = tree.distances[u] + tree.distances[nodes] - 2 * shared
    return lengths
