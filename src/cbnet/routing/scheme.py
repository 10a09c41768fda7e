"""The interface of routing schemes: header, init and forward functions of a router, and their state [2006 §2.1].

    message at its source v:   h = init(m)
    a packet ⟨h, m⟩ at u:      for each w in fwd(h, m): send ⟨hdr(h, w), m⟩ to w

Two differences from the paper: `hdr` receives the next hop, so that a scheme can send each neighbour only its own part
of the header, as [2006 §3.4] proposes for DRP; other schemes ignore it. And the source also applies `hdr`, whose result
is the paper's unchanged initial header in every scheme here.

A scheme is built from a `Network`; `router(u)` computes the state of u lazily, and only that.
A simulator runs all routers over a graph (`simulate.delivery`); a live router runs its own.

A header is a plain value: an identifier, or nested tuples of identifiers.

    PSF, iPS, PIF     7                        the source, or a router in its place
    DRP               (2, 3)                   the destinations
    DRP, partition    ((2, (2, 3)), (7, (4, 8)))   the destinations of each next hop

On the wire a header is MessagePack: an identifier takes 1 byte below 128, 2 below 256, 3 below 65,536 and 5 above;
a tuple adds a byte, and 3 if it has 16 members or more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, ClassVar, TypeAlias

import msgspec

from cbnet.errors import member_of
from cbnet.language.message import Message
from cbnet.routing.network import Network
from cbnet.routing.router_state import RouterState, total


class SchemeRouter(ABC):
    """The functions of node `u` in one scheme."""

    def __init__(self, network: Network, u: int) -> None:
        self.network = network
        self.u = u

    @abstractmethod
    def init(self, message: Message) -> Header:
        """Return the header of a new message that originates here."""

    @abstractmethod
    def hdr(self, header: Header, neighbour: int) -> Header:
        """Return the header of the packet to a neighbour, from the header of the incoming packet."""

    @abstractmethod
    def fwd(self, header: Header, message: Message) -> Sequence[int]:
        """Return the neighbours to forward the message to."""

    @abstractmethod
    def state(self) -> RouterState:
        """Return the state that these functions need, for all senders and receivers."""


class SourceRouter(SchemeRouter):
    """A router of a scheme whose header is the source, as in PSF."""

    def init(self, message: Message) -> Header:  # noqa: ARG002
        """Return this node: the source."""
        return self.u

    def hdr(self, header: Header, neighbour: int) -> Header:  # noqa: ARG002
        """Return the header unchanged."""
        return header


class Scheme(ABC):
    """All routers of a network in one scheme."""

    name: ClassVar[str]

    def __init__(self, network: Network) -> None:
        self.network = network
        self._routers: dict[int, SchemeRouter] = {}

    def router(self, u: int) -> SchemeRouter:
        """Return the router at a node."""
        if u not in self._routers:
            self._routers[u] = self._new_router(u)
        return self._routers[u]

    @abstractmethod
    def _new_router(self, u: int) -> SchemeRouter:
        """Return a new router at a node."""

    def state(self, sample: Sequence[int] | None = None) -> RouterState:
        """Return the total state of all routers.

        Given a sample of routers, a scheme may reduce predicates there only, and extrapolate.
        """
        del sample
        return self.state_at(range(len(self.network)))

    def state_at(self, routers: Iterable[int]) -> RouterState:
        """Return the total state of these routers; new routers are not cached."""
        return total((self._routers.get(u) or self._new_router(u)).state() for u in routers)

    def formula(self) -> float | None:
        """Return M(S) in bits by the paper's formula (`router_state`), or None without a formula."""
        return None


# name -> module and class, imported on use
_SCHEMES = {
    "psf": ("cbnet.routing.schemes.psf", "Psf"),
    "ips": ("cbnet.routing.schemes.ips", "Ips"),
    "pif": ("cbnet.routing.schemes.pif", "Pif"),
    "drp": ("cbnet.routing.schemes.drp", "Drp"),
    "multitree": ("cbnet.routing.multitree.multitree", "MultiTree"),
}
SCHEMES = tuple(_SCHEMES)
_SIMULATED_ONLY = {
    "domains": ("cbnet.routing.schemes.domains", "Domains"),
    "treeheader": ("cbnet.routing.schemes.tree_header", "TreeHeader"),
}
SIMULATED = (*_SCHEMES, *_SIMULATED_ONLY)  # live routers run a subset of SCHEMES


def scheme(name: str) -> Callable[[Network], Scheme]:
    """Return a scheme by its name."""
    module, kind = member_of(_SCHEMES | _SIMULATED_ONLY, name, "scheme")
    scheme_class: Callable[[Network], Scheme] = getattr(import_module(module), kind)
    return scheme_class


Header: TypeAlias = Any  # an int, or tuples of ints, nested

_encoded = msgspec.msgpack.Encoder().encode


def header_bytes(header: Header) -> int:
    """Return the bytes of a header on the wire."""
    return len(_encoded(header))
