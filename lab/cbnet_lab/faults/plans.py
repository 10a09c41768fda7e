"""The plans of runs under faults: their sizes, and the options of their commands.

The docstring of a plan is the help of its command. This module imports nothing that only a run needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cbnet.cli.options import flag, option
from cbnet.errors import InputError
from cbnet_lab.bench.plan_options import Routing, numbers, routings, seconds, seed

_MAX = 1000  # simulated hours, and messages per second


@dataclass(frozen=True)
class HttpPlan:
    """Measure HTTP subscribers of one router under load, one of which never reads; check every delivery.

    The router must close the client that never reads, and answer health checks meanwhile.

    Example: cbnet bench http --streams 500 --sockets 50 --messages 3000
    """

    streams: int = option(500, "N", "Subscribers by server-sent events.", least=1, most=900)
    sockets: int = option(50, "N", "WebSockets; one of them never reads.", least=1, most=90)
    messages: int = option(3_000, "M", "Messages to publish.", least=1)
    seed: int = seed("Seed of the messages and predicates.")

    @property
    def readers(self) -> int:
        """The number of subscribers that read."""
        return self.streams + self.sockets - 1


@dataclass(frozen=True)
class ChurnPlan:
    """Subscribe, unsubscribe and vanish with very many filters, while others ping, publish and connect.

    Two router processes; a prober measures the longest wait in each phase. Every message must arrive once.

    Example: cbnet bench churn --filters 1000000 --vanishing 10000,100000
    """

    filters: int = option(100_000, "F", "Maximum number of filters of a router's clients.", least=26_000)
    vanishing: tuple[int, ...] = option(
        "10000", "N,...", "Filters of clients that vanish, one after the other.", parse=numbers
    )
    seed: int = seed("Seed of the filters.")


def _attacks(_option: str, names: Sequence[str]) -> tuple[str, ...]:
    from cbnet_lab.faults.attacks.attacks import ATTACKS

    for name in names:
        if name not in ATTACKS:
            raise InputError(f"unknown attack {name!r}", hint=f"use one of {', '.join(ATTACKS)}")
    return tuple(dict.fromkeys(names or ATTACKS))


@dataclass(frozen=True)
class AttacksPlan:
    """Attack a ring of four routers as an ordinary client can, while honest clients measure what they notice.

    The routers have TLS, tokens and default limits. Nothing of the honest clients may be lost, 99 % of their
    messages must arrive within 100 ms, no router may be taken for dead, and memory must stay within its limits.

    Example: cbnet bench attacks --attack conditions --attack half-open --seconds 20
    """

    attack: tuple[str, ...] = option(
        (), "NAME", "Attack to run; repeatable.", raw=tuple[str, ...], parse=_attacks, shown="all"
    )
    seconds: float = seconds(10.0, "Duration of each attack, in seconds.")


@dataclass(frozen=True)
class RunsPlan:
    """Runs under faults, by their seeds and routings."""

    trees: tuple[Routing, ...] = option(
        "1,2,pif", "K,...", "Numbers of routing trees, or pif for one per source.", parse=routings
    )
    seconds: float = option(float("inf"), "S", "Start no run after this time.", least=0.0, shown="no limit")
    output: str | None = option(
        None, "FILE", "Results, in JSON Lines; runs in it are not repeated.", name="--output -o", shown=False
    )
    seed: int = seed("Seed of the first run; the others follow.")

    @property
    def kind(self) -> str:
        """The kind of the runs, such as month."""
        return type(self).__name__.removesuffix("Plan").lower()

    def runs(self) -> Iterator[tuple[int, Routing]]:
        """Yield the seed and the routing of each run."""
        return ((self.seed, routing) for routing in self.trees)


@dataclass(frozen=True)
class MonthPlan(RunsPlan):
    """Fail and restore links, routers and clients of a simulated network, and check every message.

    One run for each number of trees.

    Example: cbnet bench month --hours 1 --trees 1,4,pif
    """

    topology: str = option("powerlaw:20", "GRAPH", "Graph file, or a generator such as powerlaw:200.",
                           name="--topology -t")  # fmt: skip
    hours: float = option(1.0, "H", "Simulated hours.")
    rate: float = option(5.0, "R", "Messages per simulated second.")

    def __post_init__(self) -> None:
        for name, value in {"--hours": self.hours, "--rate": self.rate}.items():
            if not 0 < value <= _MAX:
                raise InputError(f"{name} must be above 0 and at most {_MAX}, not {value:g}")


@dataclass(frozen=True)
class SchedulesPlan(RunsPlan):
    """Run random schedules of failures over small simulated networks, and check every table and delivery.

    A schedule cuts and repairs links, kills and starts routers, and changes subscriptions while messages are published.

    Example: cbnet bench schedules --schedules 1000 --trees 1,3 --seed 5000
    """

    schedules: int = option(1_000, "N", "Schedules of each number of trees.", least=1)

    def runs(self) -> Iterator[tuple[int, Routing]]:
        """Yield the seed and the routing of each schedule."""
        return ((seed, routing) for routing in self.trees for seed in range(self.seed, self.seed + self.schedules))


@dataclass(frozen=True)
class HistoriesPlan(RunsPlan):
    """Record what durable publishers and subscribers see under faults, and check what was promised to them.

    Processes are killed and stopped, links cut, silenced and slowed, disks full, journals torn, databases killed and
    replaced; in simulated time, clocks jump, too. A message with a receipt must reach every durable subscription, once
    and in order. The histories take the numbers of trees in turn.

    Example: cbnet bench histories --simulated --histories 100000 --output histories.jsonl --seconds 3600
    """

    histories: int = option(10, "N", "Number of histories.", least=1)
    simulated: bool = flag("Simulate time, network and disks, instead of starting processes.")

    @property
    def kind(self) -> str:
        """Whether processes are started or time is simulated."""
        return "simulated" if self.simulated else "processes"

    def runs(self) -> Iterator[tuple[int, Routing]]:
        """Yield the seed and the routing of each history."""
        seeds = range(self.seed, self.seed + self.histories)
        return ((seed, self.trees[seed % len(self.trees)]) for seed in seeds)
