"""Targets: to which interfaces of routers does each node's predicate belong, and on which trees? [2014 §3]

    node         0     1        2
    offsets      0     1        3   …        int64[nodes + 1]
    groups       4   │ 4    7 │ 2   …        int32: interfaces, numbered over all routers
    masks        11  │ 10  01 │ 11  …        uint64: a bit for each tree that leads to the node there

The node is behind interface 4 of a router on both trees, node 1 on one tree behind 4 and on the other behind 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology import ROOT, Tree

Ids: TypeAlias = NDArray[np.int32]
Counts: TypeAlias = NDArray[np.int64]
Masks: TypeAlias = NDArray[np.uint64]

NOWHERE = -1
MAX_TREES = 63  # a mask is one signed column of 64 bits


@dataclass(frozen=True, eq=False)
class Targets:
    """The groups of each node, and the mask of each."""

    offsets: Counts
    groups: Ids
    masks: Masks

    @classmethod
    def themselves(cls, nodes: int) -> Targets:
        """Return the targets of nodes that are each a group of their own."""
        return cls(np.arange(nodes + 1), np.arange(nodes, dtype=np.int32), np.ones(nodes, dtype=np.uint64))


@dataclass(frozen=True, eq=False)
class RouterInterfaces:
    """The interfaces of several routers on several trees, numbered by router and neighbour."""

    routers: Ids  # of each interface
    neighbours: Ids  # likewise
    of_nodes: Ids  # int32[routers, trees, nodes]: the interface behind which each node is; NOWHERE

    @classmethod
    def of(cls, trees: Sequence[Tree], routers: Sequence[int]) -> RouterInterfaces:
        """Return the interfaces of routers on trees."""
        _check(trees, routers)
        nodes = len(trees[0].parents)
        shape = (len(routers), len(trees), nodes)
        found = np.array([[neighbours_toward(tree, router) for tree in trees] for router in routers]).reshape(shape)
        keys = np.arange(len(routers)).reshape(-1, 1, 1) * nodes + found
        known, numbers = np.unique(keys[found != NOWHERE], return_inverse=True)
        of_nodes = np.full(shape, NOWHERE, dtype=np.int32)
        of_nodes[found != NOWHERE] = numbers
        places, neighbours = np.divmod(known, nodes)
        return cls(np.asarray(routers, dtype=np.int32)[places], neighbours.astype(np.int32), of_nodes)

    def __len__(self) -> int:
        return len(self.routers)

    def targets(self) -> Targets:
        """Return the interfaces of each node, and on which trees it is behind each."""
        nodes = self.of_nodes.shape[2]
        _, tree, node = np.nonzero(self.of_nodes != NOWHERE)
        groups = self.of_nodes[self.of_nodes != NOWHERE]
        keys, places = np.unique(node * max(1, len(self)) + groups, return_inverse=True)
        masks = np.zeros(len(keys), dtype=np.uint64)
        np.bitwise_or.at(masks, places, np.uint64(1) << tree.astype(np.uint64))
        owners, own = np.divmod(keys, max(1, len(self)))
        return Targets(np.searchsorted(owners, np.arange(nodes + 1)), own.astype(np.int32), masks)

    def sums(self, of_nodes: Counts, tree: int = 0) -> Counts:
        """Return for each interface the sum over the nodes behind it on a tree: int64[interfaces]."""
        sums = np.zeros(len(self) + 1, dtype=np.int64)
        for row in self.of_nodes[:, tree]:
            np.add.at(sums, row, of_nodes)  # NOWHERE is the last place, which is left out
        return sums[:-1]


def neighbours_toward(tree: Tree, router: int) -> Ids:
    """Return the neighbour of a router toward each node: int32[n]; NOWHERE for itself and what is not reached."""
    parent = int(tree.parents[router])
    found = np.where(tree.positions >= 0, NOWHERE if parent == ROOT else parent, NOWHERE).astype(np.int32)
    for child in tree.children(router).tolist():
        found[tree.descendants(child)] = child
    found[router] = NOWHERE
    return found


def _check(trees: Sequence[Tree], routers: Sequence[int]) -> None:
    if not 1 <= len(trees) <= MAX_TREES:
        raise InputError(f"{len(trees)} trees: give from 1 to {MAX_TREES}")
    if len(set(routers)) != len(routers):
        raise InputError("a router is named twice")
    for tree in trees:
        for router in routers:
            if not 0 <= router < len(tree.parents) or tree.positions[router] < 0:
                raise InputError(f"node {router} is not in the tree of {tree.root}")
