"""The view of a network that every router has: links, predicates of receivers, senders [2006 §2].

A link-state protocol gives each router this view. Everything derived from it is computed lazily.

The *branches* of a source's tree are the receivers behind each edge: T_v/(u, w), restricted to receivers [2006 §3.1].
In preorder the receivers behind an edge are consecutive, so a branch is a slice of one list:

    receivers    3  8  5  2  7          in preorder of the tree of v
                 └──────┘  └──┘
                  via w1    via w2      the branches at u

Edges without receivers are left out: no scheme stores anything for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.language.relations.covering import PredicateLike, as_predicate
from cbnet.matching import Table
from cbnet.routing.interests import Interests
from cbnet.topology import Graph, Tree, parents, shortest_path_tree

Ids: TypeAlias = NDArray[np.int32]
Lengths: TypeAlias = NDArray[np.int64]

_TREE_BYTES = 32  # per node of a tree
_CACHE_BYTES = 1 << 30  # for trees
_MAX_PARENTS = 1 << 27  # senders times nodes: 512 MiB


class Network:
    """An immutable graph with the predicates of the receivers R by node, and the senders S."""

    def __init__(
        self,
        graph: Graph,
        predicates: Mapping[int, PredicateLike],
        senders: Iterable[int] | None = None,
    ) -> None:
        """Build the view from ids of nodes; without senders, every node may send."""
        senders = range(len(graph)) if senders is None else [*senders]
        for node in (*predicates, *senders):
            if not isinstance(node, Integral) or isinstance(node, bool) or not 0 <= int(node) < len(graph):
                raise InputError(f"there is no node {node!r}", hint=f"ids are from 0 to {len(graph) - 1}; see Graph.id")
        self.graph = graph
        self.predicates: dict[int, Predicate] = {x: as_predicate(predicates[x]) for x in sorted(predicates)}
        self.senders = tuple(sorted(set(senders)))
        self.receivers: Ids = np.array(list(self.predicates), dtype=np.int32)
        self._sender_ranks = {v: rank for rank, v in enumerate(self.senders)}
        self.rank = {x: rank for rank, x in enumerate(self.predicates)}  # of a receiver among the receivers
        kept = max(64, _CACHE_BYTES // (_TREE_BYTES * max(1, len(graph))))
        self.tree = lru_cache(kept)(partial(shortest_path_tree, graph))  # the shortest-path tree of a node, T_v
        self._branches: dict[int, Branches] = {}
        self._first_hops: dict[int, Ids] = {}
        self._distances: dict[int, Lengths] = {}
        if len(self.tree(0).preorder) < len(self.graph):
            raise InputError("the graph is not connected", hint="use its largest component")

    def __len__(self) -> int:
        return len(self.graph)

    def is_sender(self, v: int) -> bool:
        """Return whether a node is among the senders."""
        return v in self._sender_ranks

    @cached_property
    def unreduced_words(self) -> Lengths:
        """The words of the receivers' unreduced predicates: int64[r]."""
        return np.array([self.interests.unreduced_words(x) for x in self.predicates], dtype=np.int64)

    @cached_property
    def interests(self) -> Interests:
        """The filters of all receivers."""
        return Interests(self.predicates)

    # --- paths

    @cached_property
    def sender_parents(self) -> Ids:
        """The parents in the tree of each sender: int32[s, n]; smaller than the trees."""
        return parents(self.graph, self.senders)

    def parents(self, v: int) -> Ids:
        """Return the parents in the tree of v: int32[n]."""
        if v not in self._sender_ranks:
            return self.tree(v).parents
        row: Ids = self.sender_parents[self._sender_ranks[v]]
        return row

    def distances(self, v: int) -> Lengths:
        """Return the distances from v to the receivers: int64[r]."""
        if v not in self._distances:
            self._distances[v] = self.tree(v).distances[self.receivers]
        return self._distances[v]

    def check_sender_trees(self) -> None:
        """Raise an error if there are too many senders to store a part of every sender's tree."""
        limit = _MAX_PARENTS // len(self)
        if len(self.senders) > limit:
            problem = f"a network of {len(self):,} nodes may have {limit:,} senders, not {len(self.senders):,}"
            raise InputError(problem, hint="use fewer senders, or use DRP, which needs no trees of senders")

    def branches(self, v: int) -> Branches:
        """Return the parts of the tree of v that lead to receivers."""
        if v not in self._branches:
            self._branches[v] = Branches.of(self.tree(v), self.receivers)
        return self._branches[v]

    def first_hops(self, u: int) -> Ids:
        """Return the next hop from u to each receiver in the tree of u: int32[r]; u for itself."""
        if u not in self._first_hops:
            self._first_hops[u] = _first_hops(self.graph, self.tree(u), self.receivers)
        return self._first_hops[u]

    def hops(self, v: int) -> Ids:
        """Return the hops from v to the receivers, in its tree: int32[r]."""
        return self.tree(v).hops[self.receivers]

    # --- ground truth for every scheme

    @cached_property
    def _table(self) -> Table[int]:
        return Table.build(self.predicates, reduce=False)

    def interested(self, message: Message) -> list[int]:
        """Return the receivers whose unreduced predicate the message matches."""
        return self._table.match(message)


def _first_hops(graph: Graph, tree: Tree, nodes: Ids) -> Ids:
    """Return the child of the root above each node; the root for itself."""
    neighbours = graph.neighbours(tree.root)
    children = neighbours[tree.parents[neighbours] == tree.root]  # in preorder, their subtrees are consecutive
    behind = np.searchsorted(tree.positions[children], tree.positions[nodes], side="right") - 1
    return np.where(nodes == tree.root, tree.root, np.append(children, tree.root)[behind]).astype(np.int32)


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
