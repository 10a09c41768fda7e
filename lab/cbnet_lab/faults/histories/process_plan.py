"""The plan of a history over real processes: network, clients and faults, all of them by the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

SECONDS: Final = 18.0  # until the last fault
_FIRST = 4.0  # seconds to the first: routers that have just started answer after 3
FAULTS: Final = ("kill", "torn write", "stop", "cut", "silence", "slow link", "full disk", "leave")
_PREDICATES = ("k >= 0", "k in (0, 2, 4)", "k < 2")
LOG: Final = "k >= 0"  # predicate of what is kept
_LOGS = 0.4  # of all histories
_MAX_PAUSE = 2.5  # seconds from a fault to the next
_MAX_DURATION = 5.0  # seconds


@dataclass(frozen=True)
class PlannedFault:
    """A fault, and its repair some time later."""

    at: float  # seconds from the beginning
    kind: str
    of: str  # a router, a link, or a client
    duration: float

    @property
    def end(self) -> float:
        """The time of its repair."""
        return self.at + self.duration


@dataclass(frozen=True)
class PlannedSubscription:
    """A subscription, and the clients that share it if it is durable; else it begins with the log of its home."""

    name: str
    home: str
    predicate: str
    clients: Sequence[str]
    is_durable: bool = True


@dataclass(frozen=True)
class ProcessPlan:
    """Everything that the seed decides."""

    routers: Sequence[str]
    links: Sequence[tuple[str, str]]
    subscriptions: Sequence[PlannedSubscription]
    publishers: dict[str, Sequence[str]]  # by name: the routers to which it connects, in turn
    faults: Sequence[PlannedFault]
    logs: Sequence[str] = ()  # routers that keep all messages

    @classmethod
    def of(cls, seed: int) -> ProcessPlan:
        """Return the plan of a seed."""
        random = Random(f"processes {seed}")
        routers = [f"r{n}" for n in range(random.choice((1, 2, 3, 3, 3, 4)))]
        links = [(routers[random.randrange(n)], routers[n]) for n in range(1, len(routers))]
        if len(routers) > 2 and (routers[1], routers[-1]) not in links and random.random() < 0.5:
            links.append((routers[1], routers[-1]))
        subscriptions = [
            _subscription(random, home) for home in random.sample(routers, random.randint(1, min(2, len(routers))))
        ]
        logs = [subscriptions[0].home] if random.random() < _LOGS else []
        subscriptions += [
            PlannedSubscription(f"log of {home}", home, random.choice(_PREDICATES[:2]), [f"reader of {home}"], False)
            for home in logs
        ]
        publishers: dict[str, Sequence[str]] = {
            f"p{n}": random.sample(routers, random.randint(1, len(routers))) for n in range(random.randint(1, 3))
        }
        clients = [client for each in subscriptions for client in each.clients]
        return cls(routers, links, subscriptions, publishers, _faults(random, routers, links, clients), logs)


def _subscription(random: Random, home: str) -> PlannedSubscription:
    predicate = random.choice(_PREDICATES)
    clients = [f"c{n} at {home}" for n in range(random.randint(1, 2))]
    return PlannedSubscription(f"{predicate} at {home}", home, predicate, clients)


def _faults(
    random: Random, routers: Sequence[str], links: Sequence[tuple[str, str]], clients: Sequence[str]
) -> list[PlannedFault]:
    """Return faults in order; no two of one part overlap, and no two of routers that share its process."""
    faults: list[PlannedFault] = []
    busy: dict[str, float] = {}  # until when
    at = _FIRST
    while at < SECONDS:
        kind = random.choice(FAULTS)
        if kind == "leave":
            of = random.choice(clients)
        elif kind in ("cut", "silence", "slow link"):
            of = "-".join(random.choice(links)) if links else ""
        else:
            of = random.choice(routers)
        fault = PlannedFault(round(at, 3), kind, of, round(random.uniform(0.2, _MAX_DURATION), 3))
        if of and busy.get(of, 0.0) < at:
            faults.append(fault)
            busy[of] = fault.end
        at += random.uniform(0.0, _MAX_PAUSE)
    return faults
