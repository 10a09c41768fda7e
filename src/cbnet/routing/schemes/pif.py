"""PIF, per-interface forwarding: one predicate for each neighbour, within the tree of the source [2006 §3.3].

The header is the source v. Router u has for each neighbour w one predicate, for all sources together, and for each
source v its children in the tree of v:

    F*_u(w)   = ⋁ F_u(v, w), over all nodes v
    fwd(v, m) = the children w of u in T_v with m in F*_u(w)

With suffix-consistent trees (`topology.shortest_paths`) every branch T_v/(u, w) is a subset of T_u/(u, w), so the
disjunction over all v is the one for v = u: a router computes F*_u from its own tree.

Erratum: the paper's M(PIF) has one n too many, before r.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import log2

import numpy as np

from cbnet.language.message import Message
from cbnet.routing.forwarding_table import ForwardingTable
from cbnet.routing.network import Network
from cbnet.routing.router_state import WORD_BITS, RouterState, alpha, total
from cbnet.routing.scheme import Header, Scheme, SchemeRouter, SourceRouter


class PifRouter(SourceRouter):
    """A router with one table, and its children in the tree of each source."""

    def fwd(self, header: Header, message: Message) -> list[int]:
        """Return the children in the tree of the source whose predicate matches."""
        parents = self.network.parents(header)
        return [w for w in self.table.match(message) if parents[w] == self.u]

    def children(self, v: int) -> list[int]:
        """Return child_u(v): the children of this node in the tree of v."""
        neighbours = self.network.graph.neighbours(self.u)
        children: list[int] = neighbours[self.network.parents(v)[neighbours] == self.u].tolist()
        return children

    @cached_property
    def table(self) -> ForwardingTable:
        """F*_u: the predicate of each neighbour with receivers behind it."""
        hops = self.network.first_hops(self.u)
        return ForwardingTable(
            self.network.interests,
            {w: self.network.receivers[hops == w].tolist() for w in np.unique(hops).tolist() if w != self.u},
        )

    def state(self) -> RouterState:
        """Return the size of F*_u, of child_u (each source with its children), and of the router's own identifier."""
        neighbours = self.network.graph.neighbours(self.u)
        children = (self.network.sender_parents[:, neighbours] == self.u).sum(axis=1)
        own = int(self.network.is_sender(self.u))
        return RouterState(identifiers=own + int(children.sum()) + int(np.count_nonzero(children))) + self.table.state()


class Pif(Scheme):
    """Per-interface forwarding."""

    name = "pif"

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        network.check_sender_trees()

    def _new_router(self, u: int) -> SchemeRouter:
        return PifRouter(self.network, u)

    def state(self, sample: Sequence[int] | None = None) -> RouterState:
        """Return the state of all routers; given a sample, F* is reduced, and its neighbours are counted, only there.

        The rest is exact: in a tree all nodes but one are children, and F*_u covers every receiver except u itself.
        """
        if sample is None:
            return super().state()
        network = self.network
        others = len(network) - 1
        inner = sum(len(np.unique(row[row >= 0])) for row in network.sender_parents)  # nodes with children
        known = RouterState(
            identifiers=len(network.senders) * (1 + others) + inner,
            unreduced_words=others * int(network.unreduced_words.sum()),
            unreduced_predicates=others * len(network.receivers),
        )
        tables = total(PifRouter(network, u).table.state() for u in sample)
        share = tables.identifiers / int(network.graph.degrees[list(sample)].sum())
        return known.with_words(tables) + RouterState(identifiers=round(share * 2 * network.graph.edge_count))

    def formula(self) -> float:
        """Return n·(s·Δ·log n + r·M_p·α(r/Δ)), where r·M_p are the bits of all receivers' predicates."""
        network = self.network
        largest = int(network.graph.degrees.max())
        children = len(network.senders) * largest * log2(len(network))
        predicates = int(network.unreduced_words.sum()) * WORD_BITS * alpha(network)
        return len(network) * (children + predicates)


class FStarRouter(PifRouter):
    """A router with F*_u only, without the restriction to the tree of the source."""

    def fwd(self, header: Header, message: Message) -> list[int]:  # noqa: ARG002
        """Return all neighbours whose predicate matches; messages may loop."""
        return self.table.match(message)


class FStar(Pif):
    """PIF without trees, to show why PIF needs them; not a scheme."""

    name = "fstar"

    def _new_router(self, u: int) -> SchemeRouter:
        return FStarRouter(self.network, u)
