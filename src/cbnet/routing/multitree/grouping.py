"""Classes of trees that are indistinguishable at a router: tree grouping [2014 §3.2.2].

Trees are indistinguishable at u if they map every destination to the same interface of u: one table serves all of them.
Each mapping is hashed to 64 bits, for every router at once, with random numbers a of neighbours and b of destinations:

    key(u) = Σ a(w)·b(x)   over the destinations x ≠ u, w the neighbour of u toward x      modulo 2**64

A subtree is an interval of the preorder, so a tree costs O(n). Two different mappings have the same key with a
probability below 2**-57.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import Tree
from cbnet.topology.common_ancestors import subtree_sums

Keys: TypeAlias = NDArray[np.uint64]
Ids: TypeAlias = NDArray[np.int32]


class TreeClasses:
    """The classes of indistinguishable trees at every router."""

    def __init__(self, trees: Sequence[Tree], destinations: Ids) -> None:
        self.trees = trees
        rng = np.random.default_rng(0)
        nodes = len(trees[0].parents)
        self._neighbour = rng.integers(1 << 64, size=nodes, dtype=np.uint64)
        self._destination = np.zeros(nodes, dtype=np.uint64)
        self._destination[destinations] = rng.integers(1 << 64, size=nodes, dtype=np.uint64)[destinations]
        self._below = [subtree_sums(tree, self._destination) for tree in trees]
        self.representatives = self._representatives()  # int64[k, n]: the first tree of each tree's class, by router

    def bits(self, u: int) -> int:
        """Return the bits that store the class of each tree at a router."""
        return len(self.trees) * (len(set(self.of(u))) - 1).bit_length()

    def of(self, u: int) -> list[int]:
        """Return the class of each tree at a router, identified by its first tree."""
        classes: list[int] = self.representatives[:, u].tolist()
        return classes

    def is_first(self) -> NDArray[np.bool_]:
        """Return whether each tree is the first of its class, by router: bool[k, n]."""
        first: NDArray[np.bool_] = self.representatives == np.arange(len(self.trees))[:, None]
        return first

    def behind(self, tree: int, u: NDArray[np.integer], w: NDArray[np.integer]) -> Keys:
        """Return a hash of the destinations behind neighbours w of u, on a tree that has these links: uint64[links]."""
        below = self._below[tree]
        is_child = self.trees[tree].parents[w] == u
        keys: Keys = np.where(is_child, below[w], self._destination.sum() - below[u])
        return keys

    def _representatives(self) -> NDArray[np.int64]:
        keys = np.array([self._keys(tree, below) for tree, below in zip(self.trees, self._below, strict=True)])
        firsts = np.empty(keys.shape, dtype=np.int64)
        for number in reversed(range(len(keys))):
            firsts[keys == keys[number]] = number  # the first of equal trees is written last
        return firsts

    def _keys(self, tree: Tree, below: Keys) -> Keys:
        """Return the hash of the mapping of destinations to interfaces at every router: uint64[n]."""
        keys = np.zeros(len(below), dtype=np.uint64)
        children = np.flatnonzero(tree.parents >= 0)
        parents = tree.parents[children]
        np.add.at(keys, parents, self._neighbour[children] * below[children])
        keys[children] += self._neighbour[parents] * (self._destination.sum() - below[children])
        return keys
