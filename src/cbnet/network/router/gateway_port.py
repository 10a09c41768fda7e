"""Port of a router for a gateway, which joins the router's domain with others.

registered    subscriptions and offers of other domains, which belong to no client; the gateway's path in the gateway
              tree, in the router's link record
exported      subscriptions and offers of this domain, without the gateway's own (`announce.exports`); the paths of the
              other gateways
handed over   messages and requests that match a registration

All methods but the lookups are called in a turn of the router (`Router.turn`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeAlias

from cbnet.language.filter import Filter
from cbnet.network.announce.announcements import Announcements
from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.forwarding.forwarding_table import InternalSubscriber
from cbnet.network.forwarding.router_core import RouterCore
from cbnet.network.pull.pull_router import PullRouter

Path: TypeAlias = tuple[str, ...]  # of gateways: from the root of the gateway tree to the one that announces it


class FilterChange(NamedTuple):
    """Filters added to the subscriptions or offers of another domain, and removed from them."""

    added: Collection[Filter]
    removed: Collection[Filter]


class GatewayPort:
    """The gateway's access to a router; unused in routers without a gateway."""

    def __init__(self, core: RouterCore, announcements: Announcements, forwarder: Forwarder, pulls: PullRouter) -> None:
        self._context = core.context
        self._versions = core.versions
        self._database = core.database
        self._announcements = announcements
        self.exports = announcements.exports
        self._kinds = announcements.subscriptions, announcements.offers
        self.forwarder = forwarder
        self.pulls = pulls

    def paths(self) -> list[Path]:
        """Return the paths of the other reachable gateways of this domain."""
        names = sorted(self._versions.newest.names)
        return [path for name in names if name != self._context.name and (path := self._database.gateway_path(name))]

    def announce(self, path: Path) -> None:
        """Announce the gateway's path in this domain, at the next tick."""
        self._context.gateway_path = path

    # --- this domain, exported to others

    def export(self, *, is_exporting: bool) -> None:
        """Export this domain's subscriptions and offers to the gateway, in full and then as changes; or stop."""
        self._announcements.export(is_exporting=is_exporting)

    def confirm(self, sequence: int) -> None:
        """Acknowledge the changes that the other domains have confirmed."""
        self._announcements.confirm_export(sequence)

    # --- other domains, registered in this one

    def register(self, side: int, changes: tuple[FilterChange, FilterChange]) -> None:
        """Change the subscriptions and offers of another side of the gateway in this domain."""
        for kind, change in zip(self._kinds, changes, strict=True):
            if change.added or change.removed:
                kind.change(InternalSubscriber.OTHER_DOMAINS, side, *change)
                if not kind.fib.local_filters(InternalSubscriber.OTHER_DOMAINS, side):
                    kind.remove(InternalSubscriber.OTHER_DOMAINS, side)

    def withdraw(self, side: int) -> None:
        """Remove the subscriptions and offers of another side."""
        for kind in self._kinds:
            kind.remove(InternalSubscriber.OTHER_DOMAINS, side)

    def watch(self, on_confirmed: Callable[[], None]) -> None:
        """Call a function once this domain has confirmed all that is registered at the end of this turn."""
        self._announcements.confirmations.watch(on_confirmed)
