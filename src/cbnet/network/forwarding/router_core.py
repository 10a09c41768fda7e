"""Core of a router: the links, topology and forwarding tables that all its other parts use.

connections ─► links        link records ─► versions, with their trees
fib, offer_fib: interface ─► predicate
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from msgspec.structs import replace

from cbnet.network.forwarding.forwarding_table import Fib
from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason
from cbnet.network.link.links import LinkTable
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.versions import Versions
from cbnet.network.protocol.fields import MAX_HOPS, UnicastFrame
from cbnet.network.security.access import Access

Received = TypeVar("Received", bound=UnicastFrame)


class UnicastForwarder:
    """Forwards frames to one router along shortest paths. They may be lost: senders that need an answer retry."""

    def __init__(self, context: RouterContext, versions: Versions, links: LinkTable) -> None:
        self._context = context
        self._versions = versions
        self._links = links

    def receive(self, frame: Received, handle: Callable[[Received], None]) -> None:
        """Handle a frame that is for this router, and forward any other."""
        if frame.to == self._context.name:
            handle(frame)
        elif frame.hops >= MAX_HOPS:
            self._context.drop(DropReason.TOO_MANY_HOPS)
        else:
            self.send(replace(frame, hops=frame.hops + 1))

    def send(self, frame: UnicastFrame) -> None:
        """Send a frame to the next hop toward its destination."""
        hop = self._versions.newest.next_hop(frame.to)
        link = None if hop is None else self._links.to(hop)
        if link is None:
            self._context.drop(DropReason.NO_ROUTE)
        else:
            self._context.outbox.send(link, frame)


class HomeRouters:
    """The homes with another name than the router that holds them, as a home group has: its routers change."""

    def __init__(self) -> None:
        self.changes = 0  # of the router of a home
        self._routers: dict[str, str] = {}

    def set(self, home: str, router: str) -> None:
        """Record the router that holds a home."""
        if router != self._routers.get(home, home):
            self.changes += 1
            if router == home:
                del self._routers[home]
            else:
                self._routers[home] = router

    def of(self, homes: Collection[str]) -> Collection[str]:
        """Return the routers that hold some homes."""
        return {self._routers.get(home, home) for home in homes} if self._routers else homes


class RouterCore(RouterContext):
    """The context that all parts of one router share, with its tables."""

    def __init__(self, settings: Settings, incarnation: int, access: Access) -> None:
        super().__init__(settings, incarnation)
        self.links = LinkTable(self, access)
        self.database = Database(settings.lifetime)
        self.versions = Versions(self, self.database)
        self.unicast = UnicastForwarder(self, self.versions, self.links)
        self.fib = Fib(self, self.links, self.versions)
        self.offer_fib = Fib(self, self.links, self.versions)  # of requests
        self.home_routers = HomeRouters()
