"""Plan and result of the door trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from cbnet_lab.bench.network.delivery_check import DeliveryCheck
from cbnet_lab.faults.door.delivery_log import DeliveryLog
from cbnet_lab.faults.door.router_watch import RouterWatch

CLOSED_WITHIN: Final = 60.0  # seconds; the router needs 30 if bytes wait for the client, 40 by pings if they do not


@dataclass(frozen=True)
class DoorPlan:
    """Sizes of the trial."""

    streams: int
    sockets: int  # one of them never reads
    messages: int
    seed: int

    @property
    def readers(self) -> int:
        """The number of subscribers that read."""
        return self.streams + self.sockets - 1


@dataclass(frozen=True)
class DoorResult:
    """What was measured."""

    plan: DoorPlan
    check: DeliveryCheck
    log: DeliveryLog
    watch: RouterWatch
    connected_memory: int  # bytes, when all have subscribed
    cpu_us: float  # of the router, from the first message until the last delivery
    seconds: float
    closed_after: float | None  # seconds from the first message until the client that never reads was closed

    def problems(self) -> list[str]:
        """Return what differs from the guarantees; empty if nothing does."""
        counts = {
            "missing": self.check.missing,
            "duplicate": self.check.twice,
            "spurious": self.check.spurious,
            "altered": self.log.altered,
            "out of order": self.log.reordered,
            "reported as lost": self.log.lost,
        }
        found = [f"{count:,} deliveries {name}" for name, count in counts.items() if count]
        if self.log.ended:
            found.append(f"{len(self.log.ended):,} connections closed, first: {self.log.ended[0]}")
        if self.closed_after is None:
            found.append(f"the client that never reads is still connected after {CLOSED_WITHIN:g} s")
        if self.watch.failures:
            found.append(f"{self.watch.failures:,} of {self.watch.checks:,} health checks failed")
        return found

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        plan, deliveries = self.plan, max(1, self.check.expected)
        return {
            "streams": plan.streams,
            "sockets": plan.sockets,
            "messages": plan.messages,
            "expected": self.check.expected,
            "right": self.check.right,
            "seconds": round(self.seconds, 2),
            "cpu_us_per_delivery": round(self.cpu_us / deliveries, 2),
            "cpu_us_per_message": round(self.cpu_us / plan.messages, 1),
            "memory_before_mb": round(self.watch.before / 1e6, 1),
            "memory_connected_mb": round(self.connected_memory / 1e6, 1),
            "memory_peak_mb": round(self.watch.peak / 1e6, 1),
            "health_checks": self.watch.checks,
            "slowest_health_ms": round(self.watch.slowest * 1000, 1),
            "closed_after_s": None if self.closed_after is None else round(self.closed_after, 1),
            "problems": self.problems(),
        }
