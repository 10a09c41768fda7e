"""Unicast: which neighbour is the next on the way to one destination? The module that DRP is given [2006 §3.4]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np

from cbnet.errors import InputError
from cbnet.routing.network import Network
from cbnet.topology import Tree


class Unicast(ABC):
    """Next hops between any node and any receiver. Followed from node to node, they must lead there."""

    name: ClassVar[str]

    def __init__(self, network: Network) -> None:
        self.network = network

    @abstractmethod
    def next_hop(self, u: int, x: int) -> int:
        """Return the neighbour of u on the way to the receiver x, which is not u."""

    @abstractmethod
    def identifiers(self, u: int) -> int:
        """Return how many identifiers u keeps for this."""


class ShortestPaths(Unicast):
    """Next hops on shortest paths: at u, those of the tree of u. A table of receivers and next hops."""

    name = "shortest"

    def next_hop(self, u: int, x: int) -> int:
        """Return the first node on the way to x in the tree of u."""
        return int(self.network.first_hops(u)[self.network.rank[x]])

    def identifiers(self, u: int) -> int:
        """Return two for each receiver: itself and the next hop."""
        return 2 * (len(self.network.receivers) - int(u in self.network.rank))


class OneTree(Unicast):
    """Next hops along one tree, that of the node with the most neighbours: longer ways, and less to keep.

    Nodes are known by their place in preorder. A node keeps its own place, its parent, and for each child
    that leads to receivers the two ends of the places below.
    """

    name = "tree"

    @cached_property
    def tree(self) -> Tree:
        """The tree that all go along."""
        return self.network.tree(int(np.argmax(self.network.graph.degrees)))

    def next_hop(self, u: int, x: int) -> int:
        """Return the child above x, or else the parent."""
        tree = self.tree
        return tree.child_toward(u, x) if tree.is_below(u, x) else int(tree.parents[u])

    def identifiers(self, u: int) -> int:
        """Return one for the own place, one for a parent, and three for each child kept."""
        children = self.network.branches(self.tree.root).at.get(u, ())
        return 1 + int(u != self.tree.root) + 3 * len(children)


class ReplacedHops(Unicast):
    """The next hops of another unicast, some of them replaced: {(u, x): next hop}."""

    name = "by hand"

    def __init__(self, unicast: Unicast, hops: Mapping[tuple[int, int], int]) -> None:
        super().__init__(unicast.network)
        self._unicast = unicast
        self._hops = dict(hops)
        for (u, x), hop in self._hops.items():
            if hop not in unicast.network.graph.neighbours(u):
                raise InputError(f"node {hop} is no neighbour of node {u}, on the way to {x}")

    def next_hop(self, u: int, x: int) -> int:
        """Return the next hop that was set, or else that of the other unicast."""
        hop = self._hops.get((u, x))
        return self._unicast.next_hop(u, x) if hop is None else hop

    def identifiers(self, u: int) -> int:
        """Return what the other unicast keeps."""
        return self._unicast.identifiers(u)


_UNICASTS = {kind.name: kind for kind in (ShortestPaths, OneTree)}
UNICASTS = tuple(_UNICASTS)


def unicast(name: str, network: Network) -> Unicast:
    """Return a unicast by its name."""
    if name not in _UNICASTS:
        raise InputError(f"unknown unicast {name!r}", hint="use one of " + ", ".join(UNICASTS))
    return _UNICASTS[name](network)
