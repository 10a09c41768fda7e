"""Joins: where on a tree do the ways up from two nodes join? Their lowest common ancestor, for many pairs at once.

In preorder, what lies between two nodes and less deep than all else there is a child of the node where they join:

    place    0    1    2    3    4    5          a = 2, b = 5: of the places 3 to 5 the least deep is 4,
    depth    0    1    2    2    1    2          and its parent, at 0, is where they join

so a table of minima over parts of 1, 2, 4, 8 … places answers each pair with two look-ups.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import Tree

Numbers: TypeAlias = NDArray[np.int64]


class Joins:
    """The lowest common ancestors in a tree, by places in its preorder."""

    def __init__(self, tree: Tree) -> None:
        depths = tree.hops[tree.preorder].astype(np.int64)
        parents = tree.positions[tree.parents[tree.preorder]].astype(np.int64)  # that of the root is never asked for
        self._nodes = len(depths)
        levels = [depths * self._nodes + parents]  # the least deep, with the place of its parent
        half = 1
        while 2 * half <= self._nodes:
            levels.append(levels[-1].copy())
            levels[-1][:-half] = np.minimum(levels[-1][:-half], levels[-1][half:])  # the last ones are never asked for
            half *= 2
        self._minima = np.array(levels)

    def places(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the place where each pair of places joins; the first must not be the larger one."""
        width = second - first  # of the part that begins behind the first
        level = np.log2(np.maximum(width, 1)).astype(np.int64)
        begin = np.minimum(first + 1, second)
        least = np.minimum(self._minima[level, begin], self._minima[level, second + 1 - (1 << level)])
        return np.where(width > 0, least % self._nodes, first)
