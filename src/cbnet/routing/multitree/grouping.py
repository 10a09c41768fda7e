"""Tree classes: which trees look alike from a router? Tree grouping [2014 §3.2.2].

Trees are indistinguishable at u if they map every destination to the same interface of u: then one table serves all of
them. For every router at once, each mapping becomes one 64-bit number, by random numbers a of neighbours and b of
destinations:

    key(u) = Σ a(w)·b(x)   over the destinations x ≠ u, w the neighbour of u toward x      modulo 2**64

What is below a node is a sum over a part of the preorder, so a tree costs O(n). Different mappings get the same number
with a probability below 2**-57, far less than a machine errs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import Tree

Keys: TypeAlias = NDArray[np.uint64]
Ids: TypeAlias = NDArray[np.int32]
Number = TypeVar("Number", np.uint64, np.int64)


class TreeClasses:
    """The trees of a network, as every router can tell them apart by where destinations lie."""

    def __init__(self, trees: Sequence[Tree], destinations: Ids) -> None:
        self.trees = trees
        rng = np.random.default_rng(0)
        nodes = len(trees[0].parents)
        self._neighbour = rng.integers(1 << 64, size=nodes, dtype=np.uint64)
        self._destination = np.zeros(nodes, dtype=np.uint64)
        self._destination[destinations] = rng.integers(1 << 64, size=nodes, dtype=np.uint64)[destinations]
        self._below = [sums_below(tree, self._destination) for tree in trees]
        self.representatives = (
            self._representatives()
        )  # int64[k, n]: the first tree of the class of each, at each router

    def bits(self, u: int) -> int:
        """Return the bits that say the class of each tree at a router."""
        return len(self.trees) * (len(set(self.of(u))) - 1).bit_length()

    def of(self, u: int) -> list[int]:
        """Return the class of each tree at a router, known by its first tree."""
        found: list[int] = self.representatives[:, u].tolist()
        return found

    def is_first(self) -> NDArray[np.bool_]:
        """Return whether a tree is the first of its class: bool[k, n]."""
        first: NDArray[np.bool_] = self.representatives == np.arange(len(self.trees))[:, None]
        return first

    def behind(self, tree: int, u: NDArray[np.integer], w: NDArray[np.integer]) -> Keys:
        """Return what is behind neighbours w of u, on a tree that has these links, as numbers: equal if the same."""
        below = self._below[tree]
        is_child = self.trees[tree].parents[w] == u
        keys: Keys = np.where(is_child, below[w], self._destination.sum() - below[u])
        return keys

    def _representatives(self) -> NDArray[np.int64]:
        keys = np.array([self._keys(tree, below) for tree, below in zip(self.trees, self._below, strict=True)])
        firsts = np.empty(keys.shape, dtype=np.int64)
        for number in reversed(range(len(keys))):
            firsts[keys == keys[number]] = number  # of all that are equal, the first comes last
        return firsts

    def _keys(self, tree: Tree, below: Keys) -> Keys:
        """Return the mapping of destinations to interfaces at every router, as a number: uint64[n]."""
        keys = np.zeros(len(below), dtype=np.uint64)
        children = np.flatnonzero(tree.parents >= 0)
        parents = tree.parents[children]
        np.add.at(keys, parents, self._neighbour[children] * below[children])
        keys[children] += self._neighbour[parents] * (self._destination.sum() - below[children])
        return keys


def sums_below(tree: Tree, values: NDArray[Number]) -> NDArray[Number]:
    """Return the sum of values at and below each node, of the same type."""
    sums = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values[tree.preorder], dtype=values.dtype)])
    below: NDArray[Number] = sums[tree.positions + tree.sizes] - sums[tree.positions]
    return below
