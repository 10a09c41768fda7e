"""Unicast next hops, which DRP builds on [2006 §3.4]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np

from cbnet.errors import InputError, member_of
from cbnet.routing.network import Network
from cbnet.topology import Tree


class Unicast(ABC):
    """Next hops from any node to any receiver; following them must reach the receiver."""

    name: ClassVar[str]

    def __init__(self, network: Network) -> None:
        self.network = network

    @abstractmethod
    def next_hop(self, u: int, x: int) -> int:
        """Return the next hop from u to the receiver x, which is not u."""

    @abstractmethod
    def identifiers(self, u: int) -> int:
        """Return the number of identifiers that u stores."""


class ShortestPaths(Unicast):
    """Next hops on shortest paths: at u, a table of receivers and their next hops in the tree of u."""

    name = "shortest"

    def next_hop(self, u: int, x: int) -> int:
        """Return the first node on the path to x in the tree of u."""
        return int(self.network.first_hops(u)[self.network.rank[x]])

    def identifiers(self, u: int) -> int:
        """Return two for each receiver: the receiver and the next hop."""
        return 2 * (len(self.network.receivers) - int(u in self.network.rank))


class OneTree(Unicast):
    """Next hops along one tree, that of the node with the most neighbours: longer paths, less state.

    Nodes are identified by their position in preorder. A node stores its own position, its parent, and each child
    with receivers below it with both ends of its interval.
    """

    name = "tree"

    @cached_property
    def tree(self) -> Tree:
        """The tree that all messages follow."""
        return self.network.tree(int(np.argmax(self.network.graph.degrees)))

    def next_hop(self, u: int, x: int) -> int:
        """Return the child above x, or else the parent."""
        tree = self.tree
        return tree.child_toward(u, x) if tree.is_below(u, x) else int(tree.parents[u])

    def identifiers(self, u: int) -> int:
        """Return one for the node's own position, one for a parent, and three for each child stored."""
        children = self.network.branches(self.tree.root).at.get(u, ())
        return 1 + int(u != self.tree.root) + 3 * len(children)


class ReplacedHops(Unicast):
    """The next hops of another unicast, some of them replaced: {(u, x): next hop}."""

    name = "replaced"

    def __init__(self, unicast: Unicast, hops: Mapping[tuple[int, int], int]) -> None:
        super().__init__(unicast.network)
        self._unicast = unicast
        self._hops = dict(hops)
        for (u, x), hop in self._hops.items():
            if hop not in unicast.network.graph.neighbours(u):
                raise InputError(f"node {hop}, the next hop from {u} to {x}, is not a neighbour of {u}")

    def next_hop(self, u: int, x: int) -> int:
        """Return the replaced next hop, or else that of the other unicast."""
        hop = self._hops.get((u, x))
        return self._unicast.next_hop(u, x) if hop is None else hop

    def identifiers(self, u: int) -> int:
        """Return the number of identifiers of the other unicast."""
        return self._unicast.identifiers(u)


_UNICASTS = {kind.name: kind for kind in (ShortestPaths, OneTree)}


def unicast(name: str, network: Network) -> Unicast:
    """Return a unicast by name."""
    return member_of(_UNICASTS, name, "unicast")(network)
