"""Unicast of frames to one router, hop by hop along shortest paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.versions import Versions
from cbnet.network.protocol.fields import MAX_HOPS, UnicastFrame

Received = TypeVar("Received", bound=UnicastFrame)


class UnicastForwarder:
    """Forwards unicast frames. They may be lost: senders that need an answer retry."""

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
