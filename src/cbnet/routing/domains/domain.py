"""Domain: what is behind each neighbour of a router, in its domain and beyond the gateways? [2014 §3.1]

    ┌────────────────────────┐
    │ x ── u ── w ── y ── g ─┼── h …      behind w, seen from u:  inside   y and g
    └────────────────────────┘                                    outside  all that is beyond g

A domain has trees of its own. Which gateways lead out of it, and where to, is a matter of the tree between domains; so
what is behind a neighbour depends on both trees.
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
        """Return the receivers of some domains."""
        return tuple(x for domain in domains for x in self.inside[domain].tolist())


class Domain:
    """A part of the network with trees of its own, and the ways out of it on each tree between domains."""

    def __init__(
        self,
        graph: Graph,
        number: int,
        domains: Ids,
        roots: Sequence[int],
        between: Sequence[DomainTree],
        receivers: DomainReceivers,
    ) -> None:
        """Take the roots that lie in it; without any, its trees have the node with most neighbours inside."""
        mask = domains == number
        self.members: Ids = np.flatnonzero(mask).astype(np.int32)
        part = graph.part(mask)
        own = [self.place(root) for root in roots] or [int(part.degrees.argmax())]
        self.trees = list(shortest_path_trees(part, own))
        self.exits = [tree.exits(number) for tree in between]
        self._receivers = receivers
        self._own = receivers.inside[number]
        gateways = sorted({exit.gateway for exits in self.exits for exit in exits})
        self.gateways = frozenset(gateways)
        self.destinations = self.places([*self._own.tolist(), *gateways])
        self._beyond = cache(receivers.of)  # ways out of several trees often lead to the same domains
        self._sides = cache(self._find_sides)

    def place(self, u: int) -> int:
        """Return the place of a node among the members: its id in the trees."""
        return int(np.searchsorted(self.members, u))

    def places(self, nodes: Sequence[int]) -> Ids:
        """Return the places of some nodes."""
        return np.searchsorted(self.members, np.array(nodes, dtype=np.int32)).astype(np.int32)

    def behind(self, u: int, between: int, inside: int) -> dict[int, ReceiversBehind]:
        """Return the neighbours of u in the domain that lead to any receiver, ascending, on two trees."""
        near, far = (sides.behind(self.place(u)) for sides in self._sides(between, inside))
        exits = self.exits[between]
        found = {}
        for w in sorted({*near, *far}):
            own = sorted(self._own[near[w]].tolist()) if w in near else []
            outside = [x for place in far.get(w, ()) for x in self._beyond(exits[place].beyond)]
            if own or outside:
                found[int(self.members[w])] = ReceiversBehind(tuple(own), tuple(outside))
        return found

    def across(self, u: int, between: int) -> dict[int, tuple[int, ...]]:
        """Return the neighbours of u over the border that lead to any receiver, ascending, and all receivers there."""
        own = {each.neighbour: self._beyond(each.beyond) for each in self.exits[between] if each.gateway == u}
        return {w: own[w] for w in sorted(own) if own[w]}

    def _find_sides(self, between: int, inside: int) -> tuple[TreeSides, TreeSides]:
        tree, gateways = self.trees[inside], [exit.gateway for exit in self.exits[between]]
        return TreeSides(tree, self.places(self._own.tolist())), TreeSides(tree, self.places(gateways))
