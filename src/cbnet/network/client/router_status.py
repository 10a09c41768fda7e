"""Status of many routers, queried in parallel, and the rates of messages between two statuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from msgspec import structs

from cbnet.network.client.async_client import connect_async
from cbnet.network.errors import NetworkError
from cbnet.network.link.counters import Event, drops
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Peer, Status
from cbnet.network.security.tls import Tls
from cbnet.network.transport.event_loop import run

_IN = (Event.PUBLISHED, Event.PACKETS_RECEIVED)
_OUT = (Event.DELIVERED, Event.PACKETS_SENT)
_SAME: Final = (  # members of a status
    "reachable", "subscriptions", "records", "is_complete", "versions", "streams_in", "streams_out", "filters",
    "table_filters", "own_filters", "initial",
)  # fmt: skip
_COUNTED: Final = (
    Event.PUBLISHED, Event.MATCHED, Event.DELIVERED, Event.FILTERS_SENT, Event.PACKETS_RETRIED, Event.PACKETS_UNPRUNED,
)  # fmt: skip


def statuses(
    routers: Mapping[str, Address],
    *,
    network: str = "cbnet",
    timeout: float = 2.0,
    tls: Tls | None = None,
    token: str | None = None,
    on_failure: Callable[[str, NetworkError], None] = lambda *_: None,
) -> dict[str, Status]:
    """Return the status of each router that answers before the timeout; on_failure: called for each other router."""

    async def one(address: Address) -> Status | NetworkError:
        try:
            async with await connect_async(
                str(address), network=network, timeout=timeout, tls=tls, token=token
            ) as client:  # fmt: skip
                return await client.status(timeout)
        except NetworkError as error:
            return error

    async def all() -> list[Status | NetworkError]:
        return await asyncio.gather(*map(one, routers.values()))

    found: dict[str, Status] = {}
    for name, answer in zip(routers, run(all()), strict=True):
        if isinstance(answer, Status):
            found[name] = answer
        else:
            on_failure(name, answer)
    return found


@dataclass(frozen=True)
class LinkRates:
    """The traffic between a router and one of its peers, over all links of that peer."""

    name: str
    role: str  # router or client
    in_per_s: float | None = None  # messages; None: no earlier status
    out_per_s: float | None = None
    waiting: int = 0  # bytes queued for the peer
    dropped: int = 0  # messages, because the peer reads too slowly


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
    clients: int = 0  # without the querying client
    subscriptions: int = 0
    records: int = 0  # of links
    is_complete: bool = False  # whether all announcements of the newest topology have arrived
    versions: int = 0  # of the topology, in use
    streams_in: int = 0
    streams_out: int = 0
    filters: int = 0  # distinct filters of all interfaces and of the router itself
    table_filters: int = 0  # in the table that messages are matched against
    own_filters: int = 0  # of its clients' subscriptions, and of its initial predicate
    interfaces: tuple[Mapping[str, Any], ...] = ()
    in_per_s: float | None = None  # messages from clients and neighbours; None: no earlier status
    out_per_s: float | None = None  # messages to clients and neighbours
    published: int = 0  # this and the following: since the router started
    matched: int = 0  # messages that matched a local client
    delivered: int = 0
    initial: int = 0  # filters of the initial predicate of its node
    delivered_to_initial: int = 0  # messages that this predicate matched
    filters_sent: int = 0  # to neighbours, in announcements
    packets_retried: int = 0  # committed to a tree again
    packets_unpruned: int = 0  # sent to a side whose announcement had not arrived
    waiting: int = 0  # bytes queued for peers
    dropped: Mapping[str, int] | None = None  # by reason; None: no answer
    links: tuple[LinkRates, ...] = ()  # of neighbours and clients

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return asdict(self)


def router_rates(name: str, address: Address | str, before: Status | None, now: Status | None) -> RouterRates:
    """Return the state and rates of a router from its previous and its current status; None: no answer."""
    if now is None:
        return RouterRates(name, str(address), answers=False)
    same: dict[str, Any] = {member: getattr(now, member) for member in _SAME}
    counted: dict[str, Any] = {event.value: now.counters.get(event, 0) for event in _COUNTED}
    return RouterRates(
        now.router,
        str(address),
        answers=True,
        is_detailed=bool(now.peers),  # the querying client is one of them
        uptime=round(now.uptime, 1),
        neighbours=tuple(now.neighbours),
        clients=max(0, now.clients - 1),
        interfaces=tuple(structs.asdict(interface) for interface in now.interfaces),
        in_per_s=_per_second(before, now, _IN),
        out_per_s=_per_second(before, now, _OUT),
        delivered_to_initial=now.counters.get(Event.DELIVERED_INITIAL, 0),
        waiting=sum(peer.waiting for peer in now.peers),
        dropped={reason: count for reason, count in drops(now.counters).items() if count},
        links=_link_rates(before, now),
        **same,
        **counted,
    )


def _per_second(before: Status | None, now: Status, names: tuple[str, ...]) -> float | None:
    """Return the growth per second of the sum of some counters."""
    seconds = _seconds(before, now)
    if before is None or seconds is None:
        return None
    return round(sum(now.counters.get(name, 0) - before.counters.get(name, 0) for name in names) / seconds, 1)


def _link_rates(before: Status | None, now: Status) -> tuple[LinkRates, ...]:
    """Return the rates of all links, by role and name; a new link counts from zero."""
    seconds = _seconds(before, now)
    earlier = {} if before is None else _traffic(before)
    return tuple(
        LinkRates(
            name=name,
            role=role,
            in_per_s=_rate(after.messages_received, past.messages_received, seconds),
            out_per_s=_rate(after.messages_sent, past.messages_sent, seconds),
            waiting=after.waiting,
            dropped=after.dropped,
        )
        for (role, name), after in _traffic(now).items()
        for past in [earlier.get((role, name), Peer(name, "client", 0, 0, 0, 0))]
    )


def _traffic(status: Status) -> dict[tuple[str, str], Peer]:
    """Return the traffic of each peer, over all its links."""
    found: dict[tuple[str, str], Peer] = {}
    for peer in status.peers:
        other = found.setdefault((peer.role, peer.name), Peer(peer.name, peer.role, 0, 0, 0, 0))
        for member in ("waiting", "dropped", "messages_received", "messages_sent"):
            setattr(other, member, getattr(other, member) + getattr(peer, member))
    return found


def _rate(after: int, before: int, seconds: float | None) -> float | None:
    """Return the growth per second; a counter that is smaller than before was reset."""
    return None if seconds is None else round((after - before if after >= before else after) / seconds, 1)


def _seconds(before: Status | None, now: Status) -> float | None:
    """Return the time between two statuses of one incarnation, by the router's own clock."""
    if before is None or before.incarnation != now.incarnation or now.uptime <= before.uptime:
        return None
    return now.uptime - before.uptime
