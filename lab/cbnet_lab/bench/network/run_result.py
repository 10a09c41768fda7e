"""Measurements of one run of messages through a network or a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cbnet.network.link.counters import Event, drops
from cbnet_lab.bench.result_table import Cell, percent

if TYPE_CHECKING:
    from cbnet.network.client.load_clients import Order
    from cbnet_lab.bench.network.delivery_check import DeliveryCheck
    from cbnet_lab.bench.network.load_processes import ReceivedDeliveries

_PERCENTILES = (50, 95, 99, 100)
_MIN_CPU_SECONDS = 0.2  # below, the resolution of a hundredth per process is too coarse


class Cpu(NamedTuple):
    """Processor seconds used."""

    publisher: float
    receivers: Sequence[float]  # by process
    servers: Sequence[float]  # by process: routers, or a broker


@dataclass(frozen=True)
class RunResult:
    """Measurements of one run."""

    rate: float | None
    messages: int
    deliveries: int  # expected ones that arrived
    expected: int
    missing: int
    twice: int
    spurious: int
    seconds: float  # until the last delivery
    messages_per_s: float
    deliveries_per_s: float
    p50_ms: float | None  # from publish to delivery; None if nothing was delivered
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    late_ms: float  # maximum lag of the publisher behind its rate
    cpu_publisher_s: float
    cpu_receivers_s: Sequence[float]
    cpu_servers_s: Sequence[float]
    matches: int | None  # of a message and a table, in all routers; None for a broker
    matching_s: float | None
    matching_share: float | None  # of the routers' processor time; None if that was too short to measure
    changes: int  # records installed: links or predicates changed, which voids the delivery guarantee
    reconnects: int  # of clients, whose messages in flight are lost
    dropped: Mapping[str, int]  # messages dropped by routers, by reason

    @property
    def problem(self) -> str | None:
        """The wrong deliveries, if there are any."""
        if not (self.missing or self.twice or self.spurious):
            return None
        return f"{self.missing:,} missing, {self.twice:,} duplicate, {self.spurious:,} spurious"

    @property
    def server_us(self) -> float | None:
        """µs of processor time of all servers per message."""
        return sum(self.cpu_servers_s) / self.messages * 1e6 if self.cpu_servers_s else None


def run_result(
    order: Order, verdict: DeliveryCheck, received: ReceivedDeliveries, cpu: Cpu, counters: Mapping[str, int]
) -> RunResult:
    """Return the measurements of a run."""
    times = received.milliseconds
    p50, p95, p99, most = np.percentile(times, _PERCENTILES).tolist() if len(times) else [None] * 4
    matching_s = _matching_seconds(counters)
    return RunResult(
        rate=order.rate,
        messages=order.count,
        deliveries=verdict.right,
        expected=verdict.expected,
        missing=verdict.missing,
        twice=verdict.twice,
        spurious=verdict.spurious,
        seconds=received.seconds,
        messages_per_s=order.count / received.seconds,
        deliveries_per_s=verdict.right / received.seconds,
        p50_ms=p50,
        p95_ms=p95,
        p99_ms=p99,
        max_ms=most,
        late_ms=received.published.late * 1000,
        cpu_publisher_s=cpu.publisher,
        cpu_receivers_s=cpu.receivers,
        cpu_servers_s=cpu.servers,
        matches=None if matching_s is None else counters[Event.MATCHES],
        matching_s=matching_s,
        matching_share=None if matching_s is None else matching_share(matching_s, cpu.servers),
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


SPEED: dict[str, Cell[RunResult]] = {
    "messages": "messages",
    "messages/s": "messages_per_s",
    "deliveries/s": "deliveries_per_s",
    "p50 ms": "p50_ms",
    "p95 ms": "p95_ms",
    "p99 ms": "p99_ms",
    "max ms": "max_ms",
    "server µs / message": "server_us",
}
PROCESSOR_TIME: dict[str, Cell[RunResult]] = {
    "publisher": "cpu_publisher_s",
    "receivers": lambda run: sum(run.cpu_receivers_s),
    "routers": lambda run: sum(run.cpu_servers_s),
    "busiest router": lambda run: max(run.cpu_servers_s, default=None),
    "µs / match": lambda run: None if run.matching_s is None else run.matching_s / max(1, run.matches or 0) * 1e6,
    "matching": lambda run: percent(run.matching_share),
}
