"""A domain: the receivers behind each neighbour of a router, inside the domain and beyond its gateways [2014 §3.1].

    ┌────────────────────────┐
    │ x ── u ── w ── y ── g ─┼── h …      behind w, seen from u:  inside   y and g
    └────────────────────────┘                                    outside  all that is beyond g

A domain has trees of its own. Its gateways, and the domains beyond them, depend on the tree between domains; so the
receivers behind a neighbour depend on both trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from cbnet.routing.domains.domain_tree import DomainTree, Ids
from cbnet.routing.multitree.tree_sides import TreeSides
from cbnet.topology import Graph, shortest_path_trees


class ReceiversBehind(NamedTuple):
    """The receivers behind a neighbour in the same domain."""

    inside: tuple[int, ...]
    outside: tuple[int, ...]


class DomainReceivers:
    """The receivers of a network, by their domain."""

    def __init__(self, receivers: Ids, domains: Ids) -> None:
        count = int(domains.max()) + 1
        self.inside = [receivers[domains[receivers] == domain] for domain in range(count)]

    def of(self, domains: Sequence[int]) -> tuple[int, ...]:
        """Return the receivers of these domains."""
        return tuple(x for domain in domains for x in self.inside[domain].tolist())


class Domain:
    """A part of the network with trees of its own, and its exits on each tree between domains."""

    def __init__(
        self,
        graph: Graph,
        number: int,
        domains: Ids,
        roots: Sequence[int],
        between: Sequence[DomainTree],
        receivers: DomainReceivers,
    ) -> None:
        """Build the trees from roots in the domain, by default the node with the most neighbours inside."""
        mask = domains == number
        self.members: Ids = np.flatnonzero(mask).astype(np.int32)
        part = graph.part(mask)
        own = [self.local_id(root) for root in roots] or [int(part.degrees.argmax())]
        self.trees = list(shortest_path_trees(part, own))
        self.exits = [tree.exits(number) for tree in between]
        self._receivers = receivers
        self._own = receivers.inside[number]
        gateways = sorted({exit.gateway for exits in self.exits for exit in exits})
        self.gateways = frozenset(gateways)
        self.destinations = self.local_ids([*self._own.tolist(), *gateways])
        self._beyond = cache(receivers.of)  # exits of several trees often lead to the same domains
        self._sides = cache(self._find_sides)

    def local_id(self, u: int) -> int:
        """Return the rank of a node among the members: its id in the trees."""
        return int(np.searchsorted(self.members, u))

    def local_ids(self, nodes: Sequence[int]) -> Ids:
        """Return the local ids of these nodes."""
        return np.searchsorted(self.members, np.array(nodes, dtype=np.int32)).astype(np.int32)

    def behind(self, u: int, between: int, inside: int) -> dict[int, ReceiversBehind]:
        """Return the receivers behind each neighbour of u in the domain, ascending by neighbour, for two trees."""
        near, far = (sides.behind(self.local_id(u)) for sides in self._sides(between, inside))
        exits = self.exits[between]
        behind = {}
        for w in sorted({*near, *far}):
            own = sorted(self._own[near[w]].tolist()) if w in near else []
            outside = [x for row in far.get(w, ()) for x in self._beyond(exits[row].beyond)]
            if own or outside:
                behind[int(self.members[w])] = ReceiversBehind(tuple(own), tuple(outside))
        return behind

    def across(self, u: int, between: int) -> dict[int, tuple[int, ...]]:
        """Return the receivers beyond each neighbour of u in another domain, ascending by neighbour."""
        own = {each.neighbour: self._beyond(each.beyond) for each in self.exits[between] if each.gateway == u}
        return {w: own[w] for w in sorted(own) if own[w]}

    def _find_sides(self, between: int, inside: int) -> tuple[TreeSides, TreeSides]:
        tree, gateways = self.trees[inside], [exit.gateway for exit in self.exits[between]]
        return TreeSides(tree, self.local_ids(self._own.tolist())), TreeSides(tree, self.local_ids(gateways))
