"""Quotas of clients: the filters and constraints of their subscriptions and offers.

    subscriptions of a client = those of its links + the replay subscriptions of its links
                                + the durable ones of its account at this router

A durable subscription counts from its creation to its removal, even while no client of its account is connected: the
router matches and stores messages for it all the time. Attaching to an existing one adds nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from cbnet._kernels.plain_filter import is_plain
from cbnet.errors import LimitError
from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.network.announce.announcements import Announcements
from cbnet.network.announce.filter_counts import NO_LOAD, FilterLoad, filter_load
from cbnet.network.announce.subscriptions import Subscriptions
from cbnet.network.durable.durable_router import DurableRouter
from cbnet.network.link.link import Link
from cbnet.network.link.links import LinkTable
from cbnet.network.security.rights import ALL_RIGHTS

MAX_FILTER_CONSTRAINTS: Final = 256  # and conditions, of one filter
MAX_NODE_FILTERS: Final = 1_000_000
MAX_NODE_BYTES: Final = 1 << 28


class FilterQuotas:
    """The quotas of one router's clients."""

    def __init__(self, links: LinkTable, announcements: Announcements, durable: DurableRouter) -> None:
        self._links = links
        self.subscriptions = announcements.subscriptions
        self._durable = durable

    def check(
        self, client: Link, registered: Subscriptions, filters: Collection[bytes], replaced: FilterLoad = NO_LOAD
    ) -> None:
        """Raise an `InputError` unless a client may have another subscription, or offer, with these filters.

        replaced: load of the one that it replaces. The filters must fit the limits of the router, too.
        """
        if client.rights is not ALL_RIGHTS:
            if not filters:
                self._check_empty(client, registered)
            self.check_all(client, registered, filter_load(filters).minus(replaced))
        longest = max(map(_constraints, filters), default=0)
        for what, count, limit in (
            ("constraints and conditions of a filter", longest, MAX_FILTER_CONSTRAINTS),
            ("filters at a router", registered.own_filters + len(filters), MAX_NODE_FILTERS),
            ("bytes of filters at a router", registered.fib.size + sum(map(len, filters)), MAX_NODE_BYTES),
        ):
            if count > limit:
                raise LimitError(what, count, limit)

    def check_all(self, client: Link, registered: Subscriptions, added: FilterLoad = NO_LOAD) -> None:
        """Raise `Denied` if the subscriptions, or offers, of a client, with `added`, exceed its quotas."""
        links = self._links.of_same_client(client)
        load, plural = registered.load(links).plus(added), "offers"
        if registered is self.subscriptions:
            durable = self._durable.load(client.account)
            load = load.plus(durable).plus(self._durable.replay_load(links))
            plural = "subscriptions, durable ones included" if durable.filters else "subscriptions"
        for right, count in (("constraints", load.constraints), ("filters", load.filters)):
            client.rights.check_count(right, count, f"in all your {plural}: {count:,}")

    def _check_empty(self, client: Link, registered: Subscriptions) -> None:
        """Raise `Denied` if a client has so many subscriptions, or offers, that it may have no empty one."""
        count, plural = 1 + sum(map(registered.count, self._links.of_same_client(client))), "offers"
        if registered is self.subscriptions:
            count, plural = count + self._durable.load(client.account).constraints, "subscriptions"
        where = f"in all your {plural}, of which an empty one counts too: {count:,}"
        client.rights.check_count("constraints", count, where)


def _constraints(encoded: bytes) -> int:
    """Return the number of constraints and conditions of a filter; 0 for a plain one, which has few."""
    if is_plain(encoded):
        return 0
    filter = filter_from_bytes(encoded)
    return len(filter.constraints) + len(filter.conditions)
