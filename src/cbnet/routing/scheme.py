"""Scheme: what must a router do, whichever the scheme? Header, init and forward functions, and their state [2006 §2.1].

    message at its source v:   h = init(m)
    a packet ⟨h, m⟩ at u:      for each w in fwd(h, m): send ⟨hdr(h, w), m⟩ to w

Two differences to the print. `hdr` is told the next hop, so that a scheme may send each neighbour only what
concerns it, as [2006 §3.4] proposes for DRP; the others ignore it. And the source sends by `hdr` too: what the
print calls the unchanged initial header is what `hdr` of the source makes of it, in every scheme here.

A scheme is built from a `Network`; `router(u)` computes the state of u alone, when it is first asked for.
A simulator drives the routers over a graph (`delivery`); a live router drives its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import ClassVar

from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.routing.header import Header
from cbnet.routing.network import Network
from cbnet.routing.router_state import RouterState, total


class SchemeRouter(ABC):
    """What node `u` computes, by one scheme."""

    def __init__(self, network: Network, u: int) -> None:
        self.network = network
        self.u = u

    @abstractmethod
    def init(self, message: Message) -> Header:
        """Return the header of a new message that originates here."""

    @abstractmethod
    def hdr(self, header: Header, neighbour: int) -> Header:
        """Return the header of the packet to a neighbour, made from that of the packet that came."""

    @abstractmethod
    def fwd(self, header: Header, message: Message) -> Sequence[int]:
        """Return the neighbours that the message goes on to."""

    @abstractmethod
    def state(self) -> RouterState:
        """Return what must be kept for these functions, for all senders and receivers."""


class SourceRouter(SchemeRouter):
    """A router of a scheme whose header is the source, as in PSF."""

    def init(self, message: Message) -> Header:  # noqa: ARG002
        """Return this node: the source."""
        return self.u

    def hdr(self, header: Header, neighbour: int) -> Header:  # noqa: ARG002
        """Return the header as it came."""
        return header


class Scheme(ABC):
    """All routers of a network, by one scheme."""

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
        """Return what all routers hold together.

        With a sample of routers, a scheme may reduce predicates there only, and estimate the rest from it.
        """
        del sample
        return self.state_at(range(len(self.network)))

    def state_at(self, routers: Iterable[int]) -> RouterState:
        """Return what some routers hold together. None is made to stay for this."""
        return total((self._routers.get(u) or self._new_router(u)).state() for u in routers)

    @abstractmethod
    def formula(self) -> float | None:
        """Return M(S) in bits by the paper's formula, as `memory` says; None if it has none."""


# name -> module and class: only what is asked for is imported
_SCHEMES = {
    "psf": ("cbnet.routing.schemes.psf", "Psf"),
    "ips": ("cbnet.routing.schemes.ips", "Ips"),
    "pif": ("cbnet.routing.schemes.pif", "Pif"),
    "drp": ("cbnet.routing.schemes.drp", "Drp"),
    "multitree": ("cbnet.routing.multitree.multitree", "MultiTree"),
}
SCHEMES = tuple(_SCHEMES)
_SIMULATED_ONLY = {
    "domains": ("cbnet.routing.domains.scheme", "Domains"),
    "treeheader": ("cbnet.routing.schemes.tree_header", "TreeHeader"),
}
SIMULATED = (*_SCHEMES, *_SIMULATED_ONLY)  # a live router drives the others


def scheme(name: str) -> Callable[[Network], Scheme]:
    """Return a scheme by its name."""
    if name not in SIMULATED:
        raise InputError(f"unknown scheme {name!r}", hint="use one of " + ", ".join(SIMULATED))
    module, kind = (_SCHEMES | _SIMULATED_ONLY)[name]
    found: Callable[[Network], Scheme] = getattr(import_module(module), kind)
    return found
