"""Rates: what does a router do in a second? Told by what it says of itself at two times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cbnet.network.link.counters import Event, drops
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Status

_IN = (Event.PUBLISHED, Event.PACKETS_RECEIVED)
_OUT = (Event.DELIVERED, Event.PACKETS_SENT)


@dataclass(frozen=True)
class RouterRates:
    """How one router is, and what it did between two looks."""

    router: str
    address: str
    answers: bool
    is_detailed: bool = True  # whether it tells of links and counters too: not to clients that may not watch
    uptime: float = 0.0  # seconds
    neighbours: tuple[str, ...] = ()
    reachable: int = 0  # routers, with this one
    clients: int = 0  # without the one that asks
    subscriptions: int = 0
    announced: int = 0  # filters of its own predicate
    records: int = 0
    filters: int = 0  # in all records: those of its table
    in_per_s: float | None = None  # messages from clients and neighbours; None: it was not looked at before
    out_per_s: float | None = None  # messages to clients and neighbours
    published: int = 0  # this and all that follow: since it was started
    matched: int = 0  # messages that somebody here wanted
    delivered: int = 0
    loaded: int = 0  # filters of the predicate that its node began with
    delivered_to_loaded: int = 0  # messages that this predicate matched
    waiting: int = 0  # bytes that others have not taken yet
    dropped: Mapping[str, int] | None = None  # by reason; None: it does not answer

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return asdict(self)


def router_rates(name: str, address: Address, before: Status | None, now: Status | None) -> RouterRates:
    """Return how a router is, by what it said before and says now; None if it did not answer."""
    if now is None:
        return RouterRates(name, str(address), answers=False)
    counters = now.counters
    return RouterRates(
        now.router,
        str(address),
        answers=True,
        is_detailed=bool(now.peers),  # who asks is one of them
        uptime=round(now.uptime, 1),
        neighbours=tuple(now.neighbours),
        reachable=now.reachable,
        clients=max(0, now.clients - 1),
        subscriptions=now.subscriptions,
        announced=now.announced,
        records=now.records,
        filters=now.filters,
        in_per_s=_per_second(before, now, _IN),
        out_per_s=_per_second(before, now, _OUT),
        published=counters.get(Event.PUBLISHED, 0),
        matched=counters.get(Event.MATCHED, 0),
        delivered=counters.get(Event.DELIVERED, 0),
        loaded=now.loaded,
        delivered_to_loaded=counters.get(Event.DELIVERED_LOADED, 0),
        waiting=sum(peer.waiting for peer in now.peers),
        dropped={reason: count for reason, count in drops(counters).items() if count},
    )


def _per_second(before: Status | None, now: Status, names: tuple[str, ...]) -> float | None:
    """Return how fast some counters grow together, by the clock of the router itself."""
    if before is None or before.life != now.life or now.uptime <= before.uptime:
        return None
    grown = sum(now.counters.get(name, 0) - before.counters.get(name, 0) for name in names)
    return round(grown / (now.uptime - before.uptime), 1)
