"""Interfaces of routers, and those of each node's predicate by tree [2014 §3].

    node         0     1        2
    offsets      0     1        3   …        int64[nodes + 1]
    groups       4   │ 4    7 │ 2   …        int32: interfaces, numbered over all routers
    masks        11  │ 10  01 │ 11  …        uint64: a bit for each tree on which the node is behind the interface

Node 0 is behind interface 4 of a router on both trees, node 1 behind 4 on one tree and behind 7 on the other.

The most central router of a tree is the one that most paths lead through [2014 §4.2.3]. The path between two nodes
leads through a router if they are behind different interfaces of it. With m nodes in total and s_i behind interface i:

    ((m - 1)² - Σ s_i²) / 2   pairs
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

NO_INTERFACE = -1
MASK_TREES = 63  # a mask is a signed 64-bit column
MAX_TREES = 1024  # of folded tables, compared in batches


@dataclass(frozen=True, eq=False)
class Targets:
    """The groups of each node, and the mask of each."""

    offsets: Counts
    groups: Ids
    masks: Masks

    @classmethod
    def of_nodes(cls, nodes: int) -> Targets:
        """Return targets with a group for each node."""
        return cls(np.arange(nodes + 1), np.arange(nodes, dtype=np.int32), np.ones(nodes, dtype=np.uint64))

    @classmethod
    def of_one_group(cls, nodes: int) -> Targets:
        """Return targets with one group of all nodes."""
        return cls(np.arange(nodes + 1), np.zeros(nodes, dtype=np.int32), np.ones(nodes, dtype=np.uint64))

    def of_groups(self, is_chosen: NDArray[np.bool_]) -> Targets:
        """Return the targets in some of the groups: bool[groups]."""
        kept = is_chosen[self.groups]
        return Targets(np.append(0, np.cumsum(kept))[self.offsets], self.groups[kept], self.masks[kept])


@dataclass(frozen=True, eq=False)
class RouterInterfaces:
    """The interfaces of several routers on several trees, numbered by router and neighbour."""

    routers: Ids  # of each interface
    neighbours: Ids  # likewise
    by_node: Ids  # int32[routers, trees, nodes]: the interface that leads to each node, or NO_INTERFACE

    @classmethod
    def of(cls, trees: Sequence[Tree], routers: Sequence[int]) -> RouterInterfaces:
        """Return the interfaces of routers on trees."""
        check_routers(trees, routers)
        nodes = len(trees[0].parents)
        shape = (len(routers), len(trees), nodes)
        toward = np.array([[neighbours_toward(tree, router) for tree in trees] for router in routers]).reshape(shape)
        keys = np.arange(len(routers)).reshape(-1, 1, 1) * nodes + toward
        known, numbers = np.unique(keys[toward != NO_INTERFACE], return_inverse=True)
        by_node = np.full(shape, NO_INTERFACE, dtype=np.int32)
        by_node[toward != NO_INTERFACE] = numbers
        index, neighbours = np.divmod(known, nodes)
        return cls(np.asarray(routers, dtype=np.int32)[index], neighbours.astype(np.int32), by_node)

    def __len__(self) -> int:
        return len(self.routers)

    def targets(self, trees: range | None = None) -> Targets:
        """Return the interfaces that lead to each node, with the trees on which they do.

        trees: at most MASK_TREES, numbered from 0 in the masks; None: all.
        """
        by_node = self.by_node if trees is None else self.by_node[:, trees.start : trees.stop]
        nodes = by_node.shape[2]
        _, tree, node = np.nonzero(by_node != NO_INTERFACE)
        groups = by_node[by_node != NO_INTERFACE]
        keys, index = np.unique(node * max(1, len(self)) + groups, return_inverse=True)
        masks = np.zeros(len(keys), dtype=np.uint64)
        np.bitwise_or.at(masks, index, np.uint64(1) << tree.astype(np.uint64))
        owners, own = np.divmod(keys, max(1, len(self)))
        return Targets(np.searchsorted(owners, np.arange(nodes + 1)), own.astype(np.int32), masks)

    def sums(self, counts: Counts, tree: int = 0) -> Counts:
        """Return for each interface the sum over the nodes behind it on a tree: int64[interfaces]."""
        sums = np.zeros(len(self) + 1, dtype=np.int64)
        for row in self.by_node[:, tree]:
            np.add.at(sums, row, counts)  # NO_INTERFACE is the last element, which is dropped
        return sums[:-1]


def neighbours_toward(tree: Tree, router: int) -> Ids:
    """Return the neighbour of a router toward each node: int32[n]; NO_INTERFACE for itself and unreached nodes."""
    parent = int(tree.parents[router])
    is_behind_parent = (tree.positions >= 0) & (parent != ROOT)
    neighbours = np.where(is_behind_parent, parent, NO_INTERFACE).astype(np.int32)
    for child in tree.children(router).tolist():
        neighbours[tree.descendants(child)] = child
    neighbours[router] = NO_INTERFACE
    return neighbours


def check_routers(trees: Sequence[Tree], routers: Sequence[int]) -> None:
    """Raise an error if there are too many trees, or a router is named twice or not in a tree."""
    if not 1 <= len(trees) <= MAX_TREES:
        raise InputError(f"the number of trees must be from 1 to {MAX_TREES}, not {len(trees)}")
    if len(set(routers)) != len(routers):
        raise InputError("a router is named twice")
    for tree in trees:
        for router in routers:
            if not 0 <= router < len(tree.parents) or tree.positions[router] < 0:
                raise InputError(f"node {router} is not in the tree of {tree.root}")


def pairs_through(tree: Tree) -> NDArray[np.int64]:
    """Return the number of pairs of other nodes with a path through each node: int64[n]; 0 for unreached nodes."""
    sizes, reached = tree.sizes.astype(np.int64), len(tree.preorder)
    children = np.flatnonzero(tree.parents >= 0)
    squares = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(squares, tree.parents[children], sizes[children] ** 2)
    squares += (reached - sizes) ** 2
    return np.where(tree.positions >= 0, ((reached - 1) ** 2 - squares) // 2, 0)


def most_central_routers(tree: Tree) -> NDArray[np.int64]:
    """Return the nodes of a tree by falling number of pairs, then by rising id."""
    nodes = np.sort(tree.preorder).astype(np.int64)
    return nodes[np.argsort(-pairs_through(tree)[nodes], kind="stable")]
