"""Interests behind the neighbours of a router on each of several trees, and its tables [2014 §3]."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cbnet.language.predicate import Predicate
from cbnet.routing.forwarding_table import ForwardingTable, HolderTable
from cbnet.routing.interests import Interests
from cbnet.routing.multitree.grouping import TreeClasses
from cbnet.routing.multitree.tree_sides import Ids, TreeSides, lengths_on_tree
from cbnet.routing.router_state import RouterState, total
from cbnet.topology import Tree
from cbnet.topology.common_ancestors import subtree_sums


class TreeInterests:
    """The subscriptions, or the offers, of all nodes, by tree and router."""

    def __init__(
        self,
        classes: TreeClasses,
        predicates: Mapping[int, Predicate],
        interests: Interests,
        *,
        by_distance: bool = False,
    ) -> None:
        """Set the trees, the predicates of nodes and their interests; `by_distance` orders tables by distance."""
        self.trees = classes.trees
        self.classes = classes
        self.predicates = predicates
        self.interests = interests
        self.nodes: Ids = np.array(list(predicates), dtype=np.int32)
        self._ids = list(predicates)
        self._by_distance = by_distance
        self._sides: dict[int, TreeSides] = {}

    def behind(self, u: int, tree: int) -> dict[int, list[int]]:
        """Return the neighbours of u on a tree with interested nodes behind them, ascending, and these nodes."""
        if tree not in self._sides:
            self._sides[tree] = TreeSides(self.trees[tree], self.nodes)
        sides = self._sides[tree].behind(u)
        return {w: [self._ids[row] for row in rows.tolist()] for w, rows in sides.items()}

    def disjunctions(self, u: int, tree: int) -> dict[int, Predicate]:
        """Return P_u(T, ·): the reduced disjunction of the predicates behind each neighbour."""
        table = ForwardingTable(self.interests, self.behind(u, tree))
        return {w: table[w] for w in table}

    def table(self, u: int, tree: int) -> ForwardingTable | HolderTable:
        """Return the table of a router for a tree."""
        behind = self.behind(u, tree)
        if not self._by_distance:
            return ForwardingTable(self.interests, behind)
        lengths = lengths_on_tree(self.trees[tree], u, self.nodes).tolist()
        distance = dict(zip(self._ids, lengths, strict=True))
        return HolderTable(self.interests, {w: [(x, distance[x]) for x in nodes] for w, nodes in behind.items()})

    def unreduced(self) -> RouterState:
        """Return the size of the tables of all routers, without reduced words; not supported for tables by distance."""
        first = self.classes.is_first()
        counts, words = np.zeros((2, len(self.trees[0].parents)), dtype=np.int64)
        counts[self.nodes] = 1
        words[self.nodes] = [self.interests.unreduced_words(x) for x in self._ids]
        classes = first.sum(axis=0)
        return RouterState(
            identifiers=sum(
                int(_entries(tree, counts)[own].sum()) for tree, own in zip(self.trees, first, strict=True)
            ),
            unreduced_words=int((classes * (words.sum() - words)).sum()),
            unreduced_predicates=int((classes * (counts.sum() - counts)).sum()),
        )


class RouterTables:
    """The tables of one router: one for each class of indistinguishable trees."""

    def __init__(self, interests: TreeInterests, u: int) -> None:
        self._interests = interests
        self._u = u
        self._classes = interests.classes.of(u)
        self._tables: dict[int, ForwardingTable | HolderTable] = {}

    def __getitem__(self, tree: int) -> ForwardingTable | HolderTable:
        first = self._classes[tree]
        if first not in self._tables:
            self._tables[first] = self._interests.table(self._u, first)
        return self._tables[first]

    def state(self) -> RouterState:
        """Return the size of the tables."""
        return total(self[tree].state() for tree in sorted(set(self._classes)))


def _entries(tree: Tree, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of neighbours of each node with interested nodes behind them: int64[n]."""
    below = subtree_sums(tree, counts)
    children = np.flatnonzero(tree.parents >= 0)
    entries = np.bincount(tree.parents[children], weights=below[children] > 0, minlength=len(below)).astype(np.int64)
    entries[children] += below[children] < counts.sum()
    return entries
