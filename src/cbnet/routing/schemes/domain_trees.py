"""Domains and the trees between them: the receivers behind each neighbour, inside and beyond gateways [2014 §3.1].

    ┌────────────────────────┐
    │ x ── u ── w ── y ── g ─┼── h …      behind w, seen from u:  inside   y and g
    └────────────────────────┘                                    outside  all that is beyond g

A domain has trees of its own. Its gateways, and the domains beyond them, depend on the tree between domains; so the
receivers behind a neighbour depend on both trees.

A tree between domains grows from a root node. Every other domain is entered by one link, to the node that the shortest
paths from the root reach first; both ends of the link are gateways:

    ┌──────────────┐      ┌─────────────┐
    │ root ─── g ──┼──────┼─ h ──── x   │      h is the node of its domain nearest to the root (in a tie, the one with
    │          │   │      │             │      the smallest id); g precedes it on the path from the root
    └──────────┼───┘      └─────────────┘

    The domains form a tree: g is nearer to the root than h, and the nearest node in g's domain is at least as near as
    g. So the links to parents lead from every domain to one with a nearer entry, and finally to the root's domain.

Distances are measured in the whole graph. A network of the gateways alone has the same distances if its links are the
links between domains and, inside a domain, the shortest paths between gateways: every path consists of such parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.routing.multitree.tree_sides import TreeSides
from cbnet.topology import Graph, Tree, shortest_path_trees


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
        self.exits = [tree.exits[number] for tree in between]
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


Ids: TypeAlias = NDArray[np.int32]


class Exit(NamedTuple):
    """A link by which messages leave a domain."""

    gateway: int
    neighbour: int  # the gateway of the other domain
    beyond: tuple[int, ...]  # the domains on that side of the tree


class DomainTree:
    """A tree between domains."""

    def __init__(self, tree: Tree, domains: Ids) -> None:
        """Find the exits; tree: the root's, over the whole graph; domains: int32[n], the domain of each node."""
        self.tree = tree
        order = np.lexsort((np.arange(len(domains)), tree.distances))
        _, first = np.unique(domains[order], return_index=True)
        entries = order[first]  # the entry of each domain
        nearest = np.argsort(first).tolist()  # domains, the root's first
        self.exits = _exits(tree, domains, entries, nearest)


def _exits(tree: Tree, domains: Ids, entries: NDArray[np.int64], nearest: list[int]) -> dict[int, list[Exit]]:
    below = {domain: [domain] for domain in nearest}
    exits: dict[int, list[Exit]] = defaultdict(list)
    for domain in reversed(nearest[1:]):  # children first
        h = int(entries[domain])
        g = int(tree.parents[h])
        parent = int(domains[g])
        inside = set(below[domain])
        exits[parent].append(Exit(g, h, tuple(sorted(inside))))
        exits[domain].append(Exit(h, g, tuple(other for other in sorted(nearest) if other not in inside)))
        below[parent].extend(inside)
    return exits
