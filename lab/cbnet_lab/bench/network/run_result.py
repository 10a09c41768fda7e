"""Measurements of one run of messages through a network or a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cbnet.network.link.counters import Event, drops
from cbnet_lab.bench.network.delivery_check import DeliveryCheck
from cbnet_lab.bench.result_table import FLAT, Cell, flat

if TYPE_CHECKING:
    from cbnet.network.client.load_clients import Order
    from cbnet_lab.bench.network.load_processes import ReceivedDeliveries

_PERCENTILES = (50, 95, 99, 100)
_MIN_CPU_SECONDS = 0.2  # below, the resolution of a hundredth per process is too coarse


@dataclass(frozen=True)
class Cpu:
    """Processor seconds used."""

    publisher_s: float
    receivers_s: Sequence[float]  # by process
    servers_s: Sequence[float]  # by process: routers, or a broker


@dataclass(frozen=True)
class Latency:
    """Milliseconds from publish to delivery; None if nothing was delivered."""

    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None

    @classmethod
    def of(cls, milliseconds: NDArray[np.float64]) -> Latency:
        """Return the percentiles of some latencies."""
        return cls(*np.percentile(milliseconds, _PERCENTILES).tolist()) if len(milliseconds) else cls()


@dataclass(frozen=True)
class RunResult:
    """Measurements of one run."""

    rate: float | None
    messages: int
    check: DeliveryCheck = field(metadata=FLAT)
    seconds: float  # until the last delivery
    messages_per_s: float
    deliveries_per_s: float
    latency: Latency = field(metadata=FLAT)
    late_ms: float  # maximum lag of the publisher behind its rate
    cpu: Cpu = field(metadata=flat("cpu_"))
    matches: int | None  # of a message and a table, in all routers; None for a broker
    matching_s: float | None
    matching_share: float | None  # of the routers' processor time; None if that was too short to measure
    changes: int  # records installed: links or predicates changed, which voids the delivery guarantee
    reconnects: int  # of clients, whose messages in flight are lost
    dropped: Mapping[str, int]  # messages dropped by routers, by reason

    @property
    def problem(self) -> str | None:
        """The wrong deliveries, if there are any."""
        return self.check.problem

    @property
    def server_us(self) -> float | None:
        """µs of processor time of all servers per message."""
        return sum(self.cpu.servers_s) / self.messages * 1e6 if self.cpu.servers_s else None


def run_result(
    order: Order, check: DeliveryCheck, received: ReceivedDeliveries, cpu: Cpu, counters: Mapping[str, int]
) -> RunResult:
    """Return the measurements of a run."""
    matching_s = _matching_seconds(counters)
    return RunResult(
        rate=order.rate,
        messages=order.count,
        check=check,
        seconds=received.seconds,
        messages_per_s=order.count / received.seconds,
        deliveries_per_s=check.deliveries / received.seconds,
        latency=Latency.of(received.milliseconds),
        late_ms=received.published.late * 1000,
        cpu=cpu,
        matches=None if matching_s is None else counters[Event.MATCHES],
        matching_s=matching_s,
        matching_share=None if matching_s is None else matching_share(matching_s, cpu.servers_s),
        changes=counters.get(Event.RECORDS_INSTALLED, 0),
        reconnects=received.reconnects,
        dropped={reason: count for reason, count in drops(counters).items() if count},
    )


def _matching_seconds(counters: Mapping[str, int]) -> float | None:
    """Return the time routers spent matching, extrapolated from the matches that they time."""
    timed = counters.get(Event.MATCHES_TIMED)
    return counters[Event.MATCHES_TIMED_NS] / 1e9 * counters[Event.MATCHES] / timed if timed else None


def matching_share(seconds: float, servers: Sequence[float]) -> float | None:
    """Return the share of matching in the routers' processor time, or None if that was too short to measure."""
    used = sum(servers)
    return seconds / used if used >= _MIN_CPU_SECONDS else None


SPEED: dict[str, Cell[Any]] = {
    "messages": "messages",
    "messages/s": "messages_per_s",
    "deliveries/s": "deliveries_per_s",
    "p50 ms": "p50_ms",
    "p95 ms": "p95_ms",
    "p99 ms": "p99_ms",
    "max ms": "max_ms",
    "server µs / message": "server_us",
}
