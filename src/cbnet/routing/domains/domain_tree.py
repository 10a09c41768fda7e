"""Trees between domains: the links that messages cross, and the domains beyond them [2014 §3.1].

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
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import Tree

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
        self._exits = _exits(tree, domains, entries, nearest)

    def exits(self, domain: int) -> list[Exit]:
        """Return the links by which messages leave a domain."""
        return self._exits[domain]


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
