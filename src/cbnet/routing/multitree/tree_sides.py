"""TreeSides: what lies behind each neighbour of a router, on a tree that messages enter anywhere? [2014 §3]

Seen from u, a tree falls into a side for each neighbour on it: below each child, and all the rest behind the parent. In
preorder a side is one part of the list, or two:

    things    ┌─────────┬───┬────────┬──────┬──────────┐    receivers, or owners of descriptors, in preorder
              │ parent  │ u │ child  │ child│  parent  │
              └─────────┴───┴────────┴──────┴──────────┘

TreeSides without anything are left out: a router needs no entry for them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import ROOT, Tree

Ids: TypeAlias = NDArray[np.int32]
Places: TypeAlias = NDArray[np.int64]


class TreeSides:
    """Things that are at nodes of a tree, as every router sees them; several may be at one node."""

    def __init__(self, tree: Tree, nodes: Ids) -> None:
        """Take the node of each thing: int32[things]."""
        self.tree = tree
        at = tree.positions[nodes]
        self.order: Places = np.argsort(at, kind="stable")
        self._at = at[self.order]

    def behind(self, u: int) -> dict[int, Places]:
        """Return the neighbours of u with something behind them, ascending, and what that is: places in `nodes`."""
        children = self.tree.children(u)
        first, end = self._parts(children)
        kept = first < end
        sides = [
            (w, self.order[a:b])
            for w, a, b in zip(children[kept].tolist(), first[kept].tolist(), end[kept].tolist(), strict=True)
        ]
        above = self.above(u)
        if len(above):
            sides.append((int(self.tree.parents[u]), above))
        return dict(sorted(sides, key=lambda side: side[0]))

    def side(self, u: int, w: int) -> Places:
        """Return what is behind the neighbour w of u."""
        return self.below(w) if self.tree.parents[w] == u else self.above(u)

    def below(self, u: int) -> Places:
        """Return what is at u and below."""
        first, end = self._parts(np.array([u]))
        return self.order[first[0] : end[0]]

    def above(self, u: int) -> Places:
        """Return what is behind the parent of u; nothing if u is the root."""
        if self.tree.parents[u] == ROOT:
            return self.order[:0]
        first, end = self._parts(np.array([u]))
        return np.concatenate([self.order[: first[0]], self.order[end[0] :]])

    def _parts(self, nodes: NDArray[np.integer]) -> tuple[Places, Places]:
        """Return where what is at and below each node begins and ends, in `order`."""
        places = self.tree.positions[nodes]
        return np.searchsorted(self._at, places), np.searchsorted(self._at, places + self.tree.sizes[nodes])


def lengths_on_tree(tree: Tree, u: int, nodes: Ids) -> Places:
    """Return the lengths of the ways from u to some nodes on a tree: int64[nodes]."""
    shared = np.zeros(len(nodes), dtype=np.int64)  # from the root to where the ways to u and to the node part
    for ancestor in tree.path(u):
        below = tree.positions[nodes] - tree.positions[ancestor]
        shared[(below >= 0) & (below < tree.sizes[ancestor])] = tree.distances[ancestor]
    lengths: Places = tree.distances[u] + tree.distances[nodes] - 2 * shared
    return lengths
