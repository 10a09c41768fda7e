"""The part of a router that a gateway uses to join its domain with others.

registered    interests of other domains, as subscriptions of no client; the gateway's path in the gateway tree, in
              its link record
read          interests of this domain, without the gateway's own; the paths of the other gateways
handed over   messages that match the interests of other domains, as if delivered to a client
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.network.announce.subscriptions import InternalSubscriber, Subscriptions
from cbnet.network.link.context import RouterContext
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.view import ViewHistory
from cbnet.network.protocol.filter_codec import filter_from_bytes
from cbnet.network.protocol.frames import Deliver

Path: TypeAlias = tuple[str, ...]  # of gateways: from the root of the gateway tree to the one that announces it


class GatewayPort:
    """The gateway's access to a router; idle in all other routers."""

    def __init__(
        self, context: RouterContext, views: ViewHistory, database: Database, subscriptions: Subscriptions
    ) -> None:
        self._context = context
        self._views = views
        self._database = database
        self._subscriptions = subscriptions
        self._decoded: dict[bytes, Filter] = {}  # at the last call of `interests`
        self.on_message: Callable[[Deliver], None] | None = None  # called with messages for other domains

    # --- lookup

    def paths(self) -> list[Path]:
        """Return the paths of the other reachable gateways of this domain."""
        names = self._views.current().names
        return [path for name in names if name != self._context.name and (path := self._database.gateway_path(name))]

    def state(self) -> tuple[object, ...]:
        """Return a value that changes whenever the interests may have changed."""
        return self._views.current(), self._database.predicates.changes, self._subscriptions.changes

    def interests(self) -> Predicate:
        """Return the interests of this domain: of all reachable routers, and of the clients of this one."""
        predicates, before = self._database.predicates, self._decoded
        others = (name for name in self._views.current().names if name != self._context.name)
        encoded = dict.fromkeys(filter for name in others for filter in predicates.encoded(name))
        self._decoded = {filter: before.get(filter) or filter_from_bytes(filter) for filter in encoded}
        own = (
            filter
            for subscriber, _, predicate in self._subscriptions.all()
            if subscriber is not InternalSubscriber.OTHER_DOMAINS
            for filter in predicate
        )
        return Predicate([*self._decoded.values(), *own])

    # --- changes; they are announced at the next tick

    def announce(self, path: Path) -> None:
        """Announce the gateway's path in this domain."""
        self._context.gateway_path = path

    def register(self, side: int, predicate: Predicate) -> None:
        """Register in this domain the interests of another side of the gateway."""
        if predicate.filters:
            self._subscriptions.set(InternalSubscriber.OTHER_DOMAINS, side, predicate)
        else:
            self._subscriptions.remove(InternalSubscriber.OTHER_DOMAINS, side)

    # --- messages

    def hand_over(self) -> None:
        """Pass the messages for other domains to the gateway."""
        for frame in self._context.outbox.take_exports():
            if self.on_message is not None:
                self.on_message(frame)

    def discard(self) -> None:
        """Drop the messages for other domains: they have just come from there."""
        self._context.outbox.take_exports()
