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
from cbnet.language.relations.reduction import reduce
from cbnet.network.announce.stream_table import StreamTable
from cbnet.network.announce.subscriptions import InternalSubscriber, OwnSource, Subscriptions
from cbnet.network.link.context import RouterContext
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.versions import Versions
from cbnet.network.protocol.filter_codec import filter_from_bytes
from cbnet.network.protocol.frames import Deliver

Path: TypeAlias = tuple[str, ...]  # of gateways: from the root of the gateway tree to the one that announces it


class GatewayPort:
    """The gateway's access to a router; idle in all other routers."""

    def __init__(
        self,
        context: RouterContext,
        versions: Versions,
        database: Database,
        streams: StreamTable,
        subscriptions: Subscriptions,
    ) -> None:
        self._context = context
        self._versions = versions
        self._streams = streams
        self._database = database
        self._subscriptions = subscriptions
        self._decoded: dict[bytes, Filter] = {}  # at the last call of `interests`
        self.on_message: Callable[[Deliver], None] | None = None  # called with messages for other domains

    # --- lookup

    def paths(self) -> list[Path]:
        """Return the paths of the other reachable gateways of this domain."""
        names = sorted(self._versions.newest.names)
        return [path for name in names if name != self._context.name and (path := self._database.gateway_path(name))]

    def state(self) -> tuple[object, ...]:
        """Return a value that changes whenever the interests may have changed."""
        return self._versions.newest, self._subscriptions.aggregation.changes

    def interests(self) -> Predicate:
        """Return the interests of this domain, without those that this gateway registered."""
        trees = self._versions.newest.trees
        branches = self._streams.branches(trees[0]) if trees else []
        encoded = set(self._subscriptions.aggregation.filters(OwnSource.CLIENTS)).union(
            *(self._streams.filters(branch.to) for branch in branches)
        )
        before, self._decoded = self._decoded, {}
        self._decoded = {each: before.get(each) or filter_from_bytes(each) for each in sorted(encoded)}
        return reduce(Predicate(self._decoded.values()))

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
