"""InterfaceTraffic: what went over the interfaces of a router, by links that are open and by links that are gone?

An interface is a neighbour, by its name; all clients together are one, and so are those who have not said who they are.
So there are not many, however many links come and go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cbnet.network.link.links import Link
from cbnet.network.link.traffic import LinkTraffic
from cbnet.network.protocol.fields import MAX_NEIGHBOURS

OTHERS = "others"  # neighbours beyond the first so many names


class Interface(NamedTuple):
    """Whom a router speaks to."""

    role: str
    name: str


class InterfaceTraffic:
    """Sums over all links that a router ever had."""

    def __init__(self) -> None:
        self._gone: dict[Interface, LinkTraffic] = {}

    def gone(self, link: Link) -> None:
        """Take a link that is gone into the sums."""
        _add(self._gone, link)

    def all(self, links: Iterable[Link]) -> dict[Interface, LinkTraffic]:
        """Return the sums, with the links that are open; what waits is of these alone."""
        sums = {interface: _sum(LinkTraffic(), traffic) for interface, traffic in self._gone.items()}
        for link in links:
            _add(sums, link).waiting += link.traffic.waiting
        return sums


def _add(sums: dict[Interface, LinkTraffic], link: Link) -> LinkTraffic:
    interface = _interface(link)
    if interface not in sums and len(sums) > MAX_NEIGHBOURS:
        interface = Interface(interface.role, OTHERS)
    return _sum(sums.setdefault(interface, LinkTraffic()), link.traffic)


def _interface(link: Link) -> Interface:
    if link.hello is None:
        return Interface("unknown", "unknown")
    return Interface("router", link.hello.name) if link.is_router else Interface("client", "clients")


def _sum(into: LinkTraffic, more: LinkTraffic) -> LinkTraffic:
    into.received += more.received
    into.sent += more.sent
    into.dropped += more.dropped
    into.messages_received += more.messages_received
    into.messages_sent += more.messages_sent
    return into
