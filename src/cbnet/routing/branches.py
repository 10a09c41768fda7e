"""Receivers behind each edge of a source's tree: T_v/(u, w), restricted to receivers [2006 §3.1].

In preorder the receivers behind an edge are consecutive, so a branch is a slice of one list:

    receivers    3  8  5  2  7          in preorder of the tree of v
                 └──────┘  └──┘
                  via w1    via w2      the branches at u

Edges without receivers are left out: no scheme stores anything for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import Tree

Branch: TypeAlias = tuple[int, int, int]  # the child w, and the slice of receivers behind (u, w)


@dataclass(frozen=True)
class Branches:
    """The part of a tree that leads to receivers."""

    receivers: list[int]  # in preorder
    at: dict[int, list[Branch]]  # by node

    @classmethod
    def of(cls, tree: Tree, receivers: NDArray[np.int32]) -> Branches:
        """Return the branches of a tree."""
        order = receivers[np.argsort(tree.positions[receivers])]
        first = np.searchsorted(tree.positions[order], tree.positions)
        end = np.searchsorted(tree.positions[order], tree.positions + tree.sizes)
        above = np.flatnonzero((first < end) & (tree.parents >= 0))
        at: dict[int, list[Branch]] = {}
        columns = (tree.parents[above], above, first[above], end[above])
        for u, w, start, stop in zip(*(column.tolist() for column in columns), strict=True):
            at.setdefault(u, []).append((w, start, stop))
        return cls(order.tolist(), at)

    def behind(self, u: int) -> dict[int, list[int]]:
        """Return the children of u that lead to receivers, ascending, each with the receivers behind it."""
        return {w: self.receivers[first:end] for w, first, end in self.at.get(u, ())}
