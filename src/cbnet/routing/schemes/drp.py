"""DRP, dynamic receiver partitioning: the source lists the destinations, and routers split the list [2006 §3.4].

The source knows the predicate of every receiver. The header is the set of destinations; router u removes itself,
groups the others by next hop, and sends each neighbour its own group:

    init(m)   = the receivers x with m in pred(x)
    fwd(W, m) = the next hops of u toward the members of W
    hdr(W, w) = the members of W whose next hop is w

This is the optimisation that the paper proposes. In the plain form all neighbours get the same header, the partition
H_W: a list of (w, group). A node that has no group of its own in it is the origin.

Errata: the paper maps H_W to W instead of its subsets, and swaps u and w in its condition: w belongs to the group of
unicast_v(w). It also does not remove u from its group.
"""

from __future__ import annotations

from functools import cached_property
from math import log2

from cbnet.language.message import Message
from cbnet.routing.network import Network
from cbnet.routing.router_state import WORD_BITS, RouterState, receiver_state
from cbnet.routing.scheme import Header, Scheme, SchemeRouter
from cbnet.routing.schemes.unicast import ShortestPaths, Unicast


class DrpRouter(SchemeRouter):
    """A router that splits sets of destinations by next hop."""

    def __init__(self, network: Network, u: int, unicast: Unicast, known: RouterState) -> None:
        super().__init__(network, u)
        self.unicast = unicast
        self._known = known
        self._last: tuple[Header, dict[int, tuple[int, ...]]] = ((), {})

    def init(self, message: Message) -> Header:
        """Return all interested receivers."""
        return tuple(sorted(self.network.interests.interested(message)))

    def hdr(self, header: Header, neighbour: int) -> Header:
        """Return the destinations behind a neighbour."""
        return self.groups(header)[neighbour]

    def fwd(self, header: Header, message: Message) -> list[int]:  # noqa: ARG002
        """Return the next hops toward the destinations."""
        return list(self.groups(header))

    def groups(self, destinations: Header) -> dict[int, tuple[int, ...]]:
        """Return the destinations by next hop: H_W."""
        last, groups = self._last
        if destinations is not last:
            by_hop: dict[int, list[int]] = {}
            for x in destinations:
                if x != self.u:
                    by_hop.setdefault(self.unicast.next_hop(self.u, x), []).append(x)
            groups = {w: tuple(by_hop[w]) for w in sorted(by_hop)}
            self._last = destinations, groups
        return groups

    def state(self) -> RouterState:
        """Return the size of unicast_u, and at a sender also of `pred`: every receiver with its predicate."""
        state = RouterState(identifiers=self.unicast.identifiers(self.u))
        return state + self._known if self.network.is_sender(self.u) else state


class PartitionRouter(DrpRouter):
    """A router that sends all next hops the same header: the destinations of each."""

    def init(self, message: Message) -> Header:
        """Return the partition of all interested receivers."""
        return self._partition(super().init(message))

    def hdr(self, header: Header, neighbour: int) -> Header:  # noqa: ARG002
        """Return the partition of this node's own group; the header of a new message is unchanged."""
        own = dict(header).get(self.u)
        return header if own is None else self._partition(own)

    def fwd(self, header: Header, message: Message) -> list[int]:  # noqa: ARG002
        """Return the next hops toward the destinations in this node's own group."""
        groups = dict(header)
        return list(self.groups(groups[self.u]) if self.u in groups else groups)

    def _partition(self, destinations: tuple[int, ...]) -> Header:
        return tuple(self.groups(destinations).items())


class Drp(Scheme):
    """Dynamic receiver partitioning."""

    name = "drp"

    def __init__(self, network: Network, unicast: Unicast | None = None, *, partition: bool = False) -> None:
        """Set the unicast, by default shortest paths; `partition` sends all next hops the same header."""
        super().__init__(network)
        self.unicast = ShortestPaths(network) if unicast is None else unicast
        self._kind = PartitionRouter if partition else DrpRouter

    def _new_router(self, u: int) -> SchemeRouter:
        return self._kind(self.network, u, self.unicast, self._known)

    @cached_property
    def _known(self) -> RouterState:
        """The size of `pred`."""
        return receiver_state(self.network)

    def formula(self) -> float:
        """Return n·r·log n + s·r·M_p, where r·M_p are the bits of all receivers' predicates."""
        network = self.network
        hops = len(network) * len(network.receivers) * log2(len(network))
        return hops + len(network.senders) * int(network.unreduced_words.sum()) * WORD_BITS
