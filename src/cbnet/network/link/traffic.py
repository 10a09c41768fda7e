"""Traffic totals of a router's interfaces, over open and closed links.

An interface is a neighbour, by name. All clients share one interface, and so do peers without a Hello. So the number of
interfaces stays small, however many links open and close.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from cbnet._kernels.link_buffer import LinkTraffic
from cbnet.network.protocol.fields import MAX_NEIGHBOURS

if TYPE_CHECKING:
    from cbnet.network.link.links import Link

OTHERS = "others"  # neighbours beyond the first MAX_NEIGHBOURS names


class Interface(NamedTuple):
    """The peer, or group of peers, behind a link."""

    role: str
    name: str


class InterfaceTraffic:
    """Totals over all links of a router, open and closed."""

    def __init__(self) -> None:
        self._closed: dict[Interface, LinkTraffic] = {}

    def add_closed(self, link: Link) -> None:
        """Add a closed link to the totals."""
        _add(self._closed, link)

    def totals(self, links: Iterable[Link]) -> dict[Interface, LinkTraffic]:
        """Return the totals, open links included; `waiting` counts open links only."""
        totals = {interface: _sum(LinkTraffic(), traffic) for interface, traffic in self._closed.items()}
        for link in links:
            _add(totals, link).waiting += link.traffic.waiting
        return totals


def _add(totals: dict[Interface, LinkTraffic], link: Link) -> LinkTraffic:
    interface = _interface(link)
    if interface not in totals and len(totals) > MAX_NEIGHBOURS:
        interface = Interface(interface.role, OTHERS)
    return _sum(totals.setdefault(interface, LinkTraffic()), link.traffic)


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
