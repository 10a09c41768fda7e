"""UnicastFrame: how does a frame for one router get there? By the next hop toward it, at every router anew."""

from __future__ import annotations

from typing import TypeAlias

from msgspec.structs import replace

from cbnet.network.link.context import RouterContext
from cbnet.network.link.counters import DropReason
from cbnet.network.link.links import LinkTable
from cbnet.network.linkstate.view import ViewHistory
from cbnet.network.protocol.fields import MAX_HOPS
from cbnet.network.protocol.frames import AckRequest, NoItem, RecordAck, ReplyFrame, Request, TraceReport

UnicastFrame: TypeAlias = RecordAck | AckRequest | TraceReport | Request | ReplyFrame | NoItem


class UnicastForwarder:
    """Sends frames toward single routers. They may be lost: who needs an answer asks again."""

    def __init__(self, context: RouterContext, views: ViewHistory, links: LinkTable) -> None:
        self._context = context
        self._views = views
        self._links = links

    def pass_on(self, frame: UnicastFrame) -> None:
        """Send a frame that came and is for another router."""
        if frame.hops >= MAX_HOPS:
            self._context.drop(DropReason.TOO_MANY_HOPS)
        else:
            self.send(replace(frame, hops=frame.hops + 1))

    def has_way(self, router: str) -> bool:
        """Return whether there is a link on the way to a router."""
        return self._link(router) is not None

    def _link(self, router: str) -> int | None:
        hop = self._views.current().next_hop(router)
        return None if hop is None else self._links.to(hop)

    def send(self, frame: UnicastFrame) -> None:
        """Send a frame toward the router that it is for."""
        link = self._link(frame.to)
        if link is None:
            self._context.drop(DropReason.NO_ROUTE)
        else:
            self._context.outbox.send(link, frame)
