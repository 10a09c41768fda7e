"""Message rates of a router, from two of its statuses."""

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
    """The state of one router, and its rates between two statuses."""

    router: str
    address: str
    answers: bool
    is_detailed: bool = True  # whether links and counters are included: only for clients with the right to watch
    uptime: float = 0.0  # seconds
    neighbours: tuple[str, ...] = ()
    reachable: int = 0  # routers, including this one
    clients: int = 0  # without the one that queries
    subscriptions: int = 0
    announced: int = 0  # filters of its own predicate
    records: int = 0
    filters: int = 0  # of its table, over all records
    in_per_s: float | None = None  # messages from clients and neighbours; None: no earlier status
    out_per_s: float | None = None  # messages to clients and neighbours
    published: int = 0  # this and the following: since the router started
    matched: int = 0  # messages that matched a local client
    delivered: int = 0
    loaded: int = 0  # filters of the initial predicate of its node
    delivered_to_loaded: int = 0  # messages that this predicate matched
    waiting: int = 0  # bytes queued for peers
    dropped: Mapping[str, int] | None = None  # by reason; None: no answer

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return asdict(self)


def router_rates(name: str, address: Address, before: Status | None, now: Status | None) -> RouterRates:
    """Return the state and rates of a router from its previous and its current status; None: no answer."""
    if now is None:
        return RouterRates(name, str(address), answers=False)
    counters = now.counters
    return RouterRates(
        now.router,
        str(address),
        answers=True,
        is_detailed=bool(now.peers),  # the querying client is one of them
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
    """Return the growth per second of the sum of some counters, by the router's own clock."""
    if before is None or before.life != now.life or now.uptime <= before.uptime:
        return None
    growth = sum(now.counters.get(name, 0) - before.counters.get(name, 0) for name in names)
    return round(growth / (now.uptime - before.uptime), 1)
