"""Ancestry: where do the ways up from two places of a tree meet?

Places are those of the preorder. Behind a place `low` and up to `high`, every node is below where the two meet, and
one of them is its child: so of their parents, the one with the smallest place is it. A table of minima over 1, 2, 4,
8 … places answers each pair with two look-ups:

    place     0  1  2  3  4  5        low 2, high 5: the parents of 3, 4 and 5
    parent    -  0  1  1  0  4        are 1, 0 and 4, so they meet at 0

(`routing.joins` does the same for arrays; this table is one that the kernel reads, too.)
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import Tree

Minima: TypeAlias = NDArray[np.int32]
Numbers: TypeAlias = NDArray[np.integer]


def parent_minima(tree: Tree) -> Minima:
    """Return the smallest place of a parent over 1, 2, 4 … places from each: int32[levels, places]."""
    parents = np.zeros(len(tree.preorder), dtype=np.int32)
    parents[1:] = tree.positions[tree.parents[tree.preorder[1:]]]
    levels, half = [parents], 1
    while 2 * half <= len(parents):
        wider = levels[-1].copy()
        wider[:-half] = np.minimum(wider[:-half], levels[-1][half:])  # the last ones are never asked for
        levels.append(wider)
        half *= 2
    return np.array(levels)


def meeting(minima: Minima, low: Numbers, high: Numbers) -> NDArray[np.int64]:
    """Return the place where each pair meets; low must not be above high."""
    length = (high - low).astype(np.int64)
    level = np.log2(np.maximum(length, 1)).astype(np.int64)
    first = np.minimum(low + 1, high)
    least = np.minimum(minima[level, first], minima[level, high + 1 - (1 << level)])
    return np.where(length > 0, least, low).astype(np.int64)
