"""Lowest common ancestors of pairs of nodes, and sums over subtrees.

Nodes are given by their positions in preorder. After position `low` and up to `high`, every node is below the lowest
common ancestor of the two, and one of them is its child; so of the parents of these nodes, the one with the smallest
position is the ancestor. A table of minima over 1, 2, 4, 8 … positions answers each pair with two look-ups:

    position  0  1  2  3  4  5        low 2, high 5: the parents of 3, 4 and 5
    parent    -  0  1  1  0  4        are 1, 0 and 4, so the lowest common ancestor is 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cbnet.topology.shortest_paths import Tree

Positions: TypeAlias = NDArray[np.integer]
Number = TypeVar("Number", np.uint64, np.int64)


@dataclass(frozen=True, eq=False)
class CommonAncestors:
    """The lowest common ancestors in a tree, by position in its preorder."""

    minima: NDArray[np.int32]  # int32[levels, reached]: the smallest parent over 1, 2, 4 … positions from each

    @classmethod
    def of(cls, tree: Tree) -> CommonAncestors:
        """Return the table of a tree."""
        parents = np.zeros(len(tree.preorder), dtype=np.int32)
        parents[1:] = tree.positions[tree.parents[tree.preorder[1:]]]
        levels, half = [parents], 1
        while 2 * half <= len(parents):
            wider = levels[-1].copy()
            wider[:-half] = np.minimum(wider[:-half], levels[-1][half:])  # no pair reads the last ones
            levels.append(wider)
            half *= 2
        return cls(np.array(levels))

    def __len__(self) -> int:
        return len(self.minima[0])

    def of_pairs(self, low: Positions, high: Positions) -> NDArray[np.int64]:
        """Return the position of the lowest common ancestor of each pair, low <= high: int64[pairs]."""
        length = (high - low).astype(np.int64)
        level = np.log2(np.maximum(length, 1)).astype(np.int64)
        first = np.minimum(low + 1, high)
        least = np.minimum(self.minima[level, first], self.minima[level, high + 1 - (1 << level)])
        return np.where(length > 0, least, low).astype(np.int64)


def subtree_sums(tree: Tree, values: NDArray[Number]) -> NDArray[Number]:
    """Return the sum of the values at and below each node, of the same type: [n]; 0 for nodes that are not reached."""
    sums = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values[tree.preorder], dtype=values.dtype)])
    below: NDArray[Number] = sums[tree.positions + tree.sizes] - sums[tree.positions]
    return below
