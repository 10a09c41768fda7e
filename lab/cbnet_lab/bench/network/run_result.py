"""Measurements of one run of messages through a network or a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.network.link.counters import Event, drops

if TYPE_CHECKING:
    from cbnet.network.client.load_clients import Order
    from cbnet_lab.bench.network.delivery_check import DeliveryCheck
    from cbnet_lab.bench.network.load_processes import ReceivedDeliveries

PERCENTILES = (50, 95, 99)
_MIN_CPU_SECONDS = 0.2  # below, the resolution of a hundredth per process is too coarse


@dataclass(frozen=True)
class Latency:
    """Delivery times in milliseconds."""

    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True)
class Cpu:
    """Processor seconds used."""

    publisher: float
    receivers: Sequence[float]  # by process
    servers: Sequence[float]  # by process: routers, or a broker


@dataclass(frozen=True)
class Matching:
    """Matching in routers: number and total time."""

    matches: int  # of a message and a table
    seconds: float

    def share(self, cpu: Cpu) -> float | None:
        """Return the share of the routers' processor time, or None if that was too short to measure."""
        used = sum(cpu.servers)
        return self.seconds / used if used >= _MIN_CPU_SECONDS else None


@dataclass(frozen=True)
class RunResult:
    """Measurements of one run."""

    order: Order
    verdict: DeliveryCheck
    seconds: float
    latency: Latency | None  # None if nothing was delivered
    late: float  # maximum lag of the publisher behind its rate, in seconds
    cpu: Cpu
    counters: Mapping[str, int]  # of all routers together
    matching: Matching | None = None  # None for a broker
    reconnects: int = 0  # of clients, whose messages in flight are lost

    @property
    def changes(self) -> int:
        """Records installed during the run: links or predicates changed, which voids the delivery guarantee."""
        return self.counters.get(Event.RECORDS_INSTALLED, 0)

    @property
    def messages_per_s(self) -> float:
        """Messages per second, until the last delivery."""
        return self.order.count / self.seconds

    @property
    def deliveries_per_s(self) -> float:
        """Deliveries per second."""
        return self.verdict.right / self.seconds

    @property
    def dropped(self) -> dict[str, int]:
        """Messages dropped by routers, by reason."""
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
            "max_ms": None if latency is None else round(latency.max, 3),
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


def latency_of(received: ReceivedDeliveries) -> Latency | None:
    """Return the percentiles and the maximum of delivery times."""
    if not len(received.milliseconds):
        return None
    return Latency(*np.percentile(received.milliseconds, (*PERCENTILES, 100)).tolist())
