"""Month failures: what happens to a network in a month, squeezed into an hour? Random failures, each with its end.

    link        cut, noticed by both ends, one or none; repaired
    router      killed, noticed or not; started again
    partition   all cables between two parts of the network are cut; repaired
    client      leaves, noticed or not, or stands still until it is given up; comes back and subscribes again
    slow        a client reads nothing for a second: that changes nothing, and it must miss nothing
    wish        a client takes another subscription in the place of one

So often, on average, in the hour: as in a month of a network whose links fail twice in a month, routers once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

from cbnet.network import MemoryClient, MemoryNetwork
from cbnet.topology import Graph

HOUR = 3600.0  # seconds
_PER_HOUR = {"link": 2.0, "router": 1.0, "client": 2.0, "wish": 2.0, "slow": 2.0}  # of each one there is
_PARTITIONS = 4.0  # in an hour
_DOWN = {"link": 20.0, "router": 15.0, "partition": 30.0, "client": 10.0}  # seconds, on average
_SLOW, _STILL = 1.0, 6.0  # seconds: a router gives up a client that is silent for 3.5
_REST = 5.0  # seconds until one that stood still may do so again
_NOTICED = ("silent ", "half-noticed ", "")  # by how many ends of a link

Some = TypeVar("Some")
Disturbed = Callable[[str], None]


class Failures:
    """What fails, and when; the same for all schemes from one seed."""

    def __init__(
        self,
        memory: MemoryNetwork,
        graph: Graph,
        clients: Mapping[str, MemoryClient],
        disturbed: Disturbed,
        wish: Callable[[MemoryClient], None],
        seed: int,
    ) -> None:
        """Take what to call when something changes, and what gives a client another subscription."""
        self._memory = memory
        self._graph = graph
        self._clients = clients
        self._disturbed = disturbed
        self._give = wish
        self._random = Random(f"failures {seed}")
        self._tired: dict[str, float] = {}  # clients that stood still, and until when they must not again
        self.given_up: set[str] = set()  # clients that stand still for so long that their routers give them up
        self.happened: Counter[str] = Counter()

    def plan(self, seconds: float) -> None:
        """Let things happen at random times from now on."""
        counts = {
            "link": len(self._memory.cables(cut=False)),
            "router": len(self._memory.hosts),
            **dict.fromkeys(("client", "wish", "slow"), len(self._clients)),
        }
        rates = {kind: _PER_HOUR[kind] * count for kind, count in counts.items()} | {"partition": _PARTITIONS}
        for kind, rate in rates.items():
            at = self._random.expovariate(rate / HOUR)
            while at < seconds:
                self._memory.after(at, getattr(self, f"_{kind}"))
                at += self._random.expovariate(rate / HOUR)

    # --- what happens

    def _link(self) -> None:
        cable = self._one_of(self._memory.cables(cut=False))
        if cable is None:
            return
        noticing = [end for end in cable if self._random.random() < 0.5]
        self._happens(_NOTICED[len(noticing)] + "link failure")
        self._memory.cut(*cable, noticed_by=noticing)
        self._later("link", lambda: self._repair(cable))

    def _repair(self, *cables: tuple[str, str]) -> None:
        self._happens("link repair" if len(cables) == 1 else "partition repair")
        for cable in cables:
            self._memory.repair(*cable)

    def _partition(self) -> None:
        group = self._group()
        cables = [(a, b) for a, b in self._memory.cables(cut=False) if (a in group) != (b in group)]
        if not cables:
            return
        self._happens("partition")
        for cable in cables:
            self._memory.cut(*cable)
        self._later("partition", lambda: self._repair(*cables))

    def _group(self) -> set[str]:
        """Return about half of the routers, that hang together."""
        graph = self._graph
        group = [self._random.randrange(len(graph))]
        for node in group:  # grows meanwhile
            near = [other for other in graph.neighbours(node).tolist() if other not in group]
            group += near[: max(0, len(graph) // 2 - len(group))]
        return {str(graph.name(node)) for node in group}

    def _router(self) -> None:
        name = self._one_of([name for name, host in self._memory.hosts.items() if host.router is not None])
        if name is None:
            return
        silently = self._random.random() < 0.5
        self._happens(("silent " if silently else "") + "router failure")
        self._memory.kill(name, silently=silently)
        self._later("router", lambda: self._start(name))

    def _start(self, name: str) -> None:
        self._happens("router start")
        self._memory.start(name)

    def _client(self) -> None:
        client = self._present()
        if client is None:
            return
        how = self._random.choice(("leaves", "is lost", "stands still"))
        self._happens(f"client {how}")
        if how == "stands still":
            self._stall(client, _STILL)
            self.given_up.add(client.name)
            self._memory.after(_STILL, lambda: self.given_up.remove(client.name))
            return
        client.disconnect(silently=how == "is lost")
        self._later("client", lambda: self._come_back(client))

    def _come_back(self, client: MemoryClient) -> None:
        self._happens("client comes back")
        client.reconnect()

    def _wish(self) -> None:
        client = self._present()
        if client is not None:
            self._happens("another subscription")
            self._give(client)

    def _slow(self) -> None:
        client = self._present()
        if client is not None:
            self.happened["slow client"] += 1  # nothing changes
            self._stall(client, _SLOW)

    def _stall(self, client: MemoryClient, seconds: float) -> None:
        client.freeze(seconds)
        self._tired[client.name] = self._memory.now + seconds + _REST

    # --- inside

    def _happens(self, what: str) -> None:
        self.happened[what] += 1
        self._disturbed(what)

    def _later(self, kind: str, do: Callable[[], None]) -> None:
        self._memory.after(self._random.expovariate(1 / _DOWN[kind]), do)

    def _one_of(self, some: Sequence[Some]) -> Some | None:
        return self._random.choice(some) if some else None

    def _present(self) -> MemoryClient | None:
        """Return a client that is there and reads."""
        now, tired = self._memory.now, self._tired
        return self._one_of(
            [each for name, each in self._clients.items() if not each.is_disconnected and tired.get(name, 0.0) <= now]
        )
