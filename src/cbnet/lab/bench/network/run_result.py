"""Network result: what was measured of one run of messages through a network, or a broker?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.network.link.counters import Event, drops

if TYPE_CHECKING:
    from cbnet.lab.bench.network.delivery_check import Verdict
    from cbnet.lab.bench.network.load_processes import Came
    from cbnet.network.client.load_clients import Order

PERCENTILES = (50, 95, 99)
_LEAST_USED = 0.2  # seconds: processors are asked in steps of a hundredth for each process


@dataclass(frozen=True)
class Latency:
    """How long deliveries took, in milliseconds."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Cpu:
    """The seconds of the processors that were used."""

    publisher: float
    receivers: Sequence[float]  # by process
    servers: Sequence[float]  # by process: routers, or a broker


@dataclass(frozen=True)
class Matching:
    """What routers say of matching: how often, how long."""

    matches: int  # of a message and a table
    seconds: float

    def share(self, cpu: Cpu) -> float | None:
        """Return its part of the time that the routers used; None if that was too short to tell."""
        used = sum(cpu.servers)
        return self.seconds / used if used >= _LEAST_USED else None


@dataclass(frozen=True)
class RunResult:
    """What was measured of one run."""

    order: Order
    verdict: Verdict
    seconds: float
    latency: Latency | None  # None if nothing was delivered
    late: float  # seconds that the sender was behind its rate, at most
    cpu: Cpu
    counters: Mapping[str, int]  # of all routers together
    matching: Matching | None = None  # None of a broker
    reconnects: int = 0  # of clients: what was on its way to them is lost

    @property
    def changes(self) -> int:
        """Records that routers installed meanwhile: links or predicates have changed, and nothing is promised then."""
        return self.counters.get(Event.RECORDS_INSTALLED, 0)

    @property
    def messages_per_s(self) -> float:
        """Messages in a second, until the last was delivered."""
        return self.order.count / self.seconds

    @property
    def deliveries_per_s(self) -> float:
        """Deliveries in a second."""
        return self.verdict.right / self.seconds

    @property
    def dropped(self) -> dict[str, int]:
        """What routers dropped, by reason."""
        return {reason: count for reason, count in drops(self.counters).items() if count}

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        checked, latency, matching = self.verdict, self.latency, self.matching
        return {
            "rate": self.order.rate,
            "messages": self.order.count,
            "deliveries": checked.right,
            "expected": checked.expected,
            "missing": checked.missing,
            "twice": checked.twice,
            "spurious": checked.spurious,
            "seconds": round(self.seconds, 3),
            "messages_per_s": round(self.messages_per_s, 1),
            "deliveries_per_s": round(self.deliveries_per_s, 1),
            **{f"p{p}_ms": None if latency is None else round(getattr(latency, f"p{p}"), 3) for p in PERCENTILES},
            "late_ms": round(self.late * 1000, 1),
            "cpu_publisher_s": round(self.cpu.publisher, 2),
            "cpu_receivers_s": [round(each, 2) for each in self.cpu.receivers],
            "cpu_servers_s": [round(each, 2) for each in self.cpu.servers],
            "matches": None if matching is None else matching.matches,
            "matching_s": None if matching is None else round(matching.seconds, 4),
            "matching_share": None if matching is None else matching.share(self.cpu),
            "changes": self.changes,
            "reconnects": self.reconnects,
            "dropped": self.dropped,
        }


def latency_of(came: Came) -> Latency | None:
    """Return the percentiles of what came."""
    if not len(came.milliseconds):
        return None
    return Latency(*np.percentile(came.milliseconds, PERCENTILES).tolist())
