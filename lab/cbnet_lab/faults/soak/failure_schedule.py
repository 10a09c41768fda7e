"""A random schedule of failures and repairs: a month of them in one simulated hour.

    link        cut, noticed by both ends, one or none; then repaired
    router      killed, noticed or not; then restarted
    partition   all cables between two parts of the network are cut; then repaired
    client      disconnects, noticed or not, or stalls until its router drops it; then reconnects and subscribes again
    slow        a client reads nothing for a second: no change, and it must miss nothing
    resubscribe a client replaces a subscription by another

The rates are those of a month in which each link fails twice and each router once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

from cbnet.network import MemoryClient, MemoryNetwork
from cbnet.topology import Graph

HOUR = 3600.0  # seconds
_PER_HOUR = {"link": 2.0, "router": 1.0, "client": 2.0, "resubscribe": 2.0, "slow": 2.0}  # per link, router or client
_PARTITIONS = 4.0  # per hour
_DOWN = {"link": 20.0, "router": 15.0, "partition": 30.0, "client": 10.0}  # seconds, on average
_SLOW, _STALLED = 1.0, 6.0  # seconds; a router drops a client after 3.5 s of silence
_REST = 5.0  # seconds before a client may stall again
_NOTICED = ("silent ", "half-noticed ", "")  # by the number of ends that notice a link failure

Some = TypeVar("Some")
OnChange = Callable[[str], None]


class FailureSchedule:
    """Failures at random times; the same for all schemes with one seed."""

    def __init__(
        self,
        memory: MemoryNetwork,
        graph: Graph,
        clients: Mapping[str, MemoryClient],
        on_change: OnChange,
        replace_subscription: Callable[[MemoryClient], None],
        seed: int,
    ) -> None:
        """Schedule failures of `memory`; `on_change` is called before each change."""
        self._memory = memory
        self._graph = graph
        self._clients = clients
        self._on_change = on_change
        self._replace_subscription = replace_subscription
        self._random = Random(f"failures {seed}")
        self._resting: dict[str, float] = {}  # client -> time before which it must not stall again
        self.dropped_clients: set[str] = set()  # stalled for so long that their routers drop them
        self.events: Counter[str] = Counter()

    def plan(self, seconds: float) -> None:
        """Schedule failures for the next `seconds`."""
        counts = {
            "link": len(self._memory.cables(cut=False)),
            "router": len(self._memory.hosts),
            **dict.fromkeys(("client", "resubscribe", "slow"), len(self._clients)),
        }
        rates = {kind: _PER_HOUR[kind] * count for kind, count in counts.items()} | {"partition": _PARTITIONS}
        for kind, rate in rates.items():
            at = self._random.expovariate(rate / HOUR)
            while at < seconds:
                self._memory.after(at, getattr(self, f"_{kind}"))
                at += self._random.expovariate(rate / HOUR)

    def _link(self) -> None:
        cable = self._choose(self._memory.cables(cut=False))
        if cable is None:
            return
        noticing = [end for end in cable if self._random.random() < 0.5]
        self._record(_NOTICED[len(noticing)] + "link failure")
        self._memory.cut(*cable, noticed_by=noticing)
        self._later("link", lambda: self._repair(cable))

    def _repair(self, *cables: tuple[str, str]) -> None:
        self._record("link repair" if len(cables) == 1 else "partition repair")
        for cable in cables:
            self._memory.repair(*cable)

    def _partition(self) -> None:
        group = self._group()
        cables = [(a, b) for a, b in self._memory.cables(cut=False) if (a in group) != (b in group)]
        if not cables:
            return
        self._record("partition")
        for cable in cables:
            self._memory.cut(*cable)
        self._later("partition", lambda: self._repair(*cables))

    def _group(self) -> set[str]:
        """Return about half of the routers, connected with each other."""
        graph = self._graph
        group = [self._random.randrange(len(graph))]
        for node in group:  # grows during the loop
            near = [other for other in graph.neighbours(node).tolist() if other not in group]
            group += near[: max(0, len(graph) // 2 - len(group))]
        return {str(graph.name(node)) for node in group}

    def _router(self) -> None:
        name = self._choose([name for name, host in self._memory.hosts.items() if host.router is not None])
        if name is None:
            return
        silently = self._random.random() < 0.5
        self._record(("silent " if silently else "") + "router failure")
        self._memory.kill(name, silently=silently)
        self._later("router", lambda: self._start(name))

    def _start(self, name: str) -> None:
        self._record("router start")
        self._memory.start(name)

    def _client(self) -> None:
        client = self._present()
        if client is None:
            return
        how = self._random.choice(("disconnects", "is lost", "stalls"))
        self._record(f"client {how}")
        if how == "stalls":
            self._stall(client, _STALLED)
            self.dropped_clients.add(client.name)
            self._memory.after(_STALLED, lambda: self.dropped_clients.remove(client.name))
            return
        client.disconnect(silently=how == "is lost")
        self._later("client", lambda: self._reconnect(client))

    def _reconnect(self, client: MemoryClient) -> None:
        self._record("client reconnects")
        client.reconnect()

    def _resubscribe(self) -> None:
        client = self._present()
        if client is not None:
            self._record("subscription replaced")
            self._replace_subscription(client)

    def _slow(self) -> None:
        client = self._present()
        if client is not None:
            self.events["slow client"] += 1  # not a change
            self._stall(client, _SLOW)

    def _stall(self, client: MemoryClient, seconds: float) -> None:
        client.freeze(seconds)
        self._resting[client.name] = self._memory.now + seconds + _REST

    def _record(self, what: str) -> None:
        self.events[what] += 1
        self._on_change(what)

    def _later(self, kind: str, do: Callable[[], None]) -> None:
        self._memory.after(self._random.expovariate(1 / _DOWN[kind]), do)

    def _choose(self, some: Sequence[Some]) -> Some | None:
        return self._random.choice(some) if some else None

    def _present(self) -> MemoryClient | None:
        """Return a connected client that is not stalled."""
        now, resting = self._memory.now, self._resting
        return self._choose(
            [each for name, each in self._clients.items() if not each.is_disconnected and resting.get(name, 0.0) <= now]
        )
