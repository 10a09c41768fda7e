"""Plan and result of the door trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.door.router_watch import RouterWatch

CLOSED_WITHIN: Final = 60.0  # seconds; the router needs 30 if bytes wait for the client, 40 by pings if they do not
_DELIVERIES = {  # that are wrong, by the kind of violation
    "lost": "missing", "repeated": "duplicate", "spurious": "spurious", "altered": "altered", "order": "out of order",
    "loss reported": "reported as lost",
}  # fmt: skip


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
    found: Findings
    watch: RouterWatch
    connected_memory: int  # bytes, when all have subscribed
    cpu_us: float  # of the router, from the first message until the last delivery
    seconds: float
    closed_after: float | None  # seconds from the first message until the client that never reads was closed

    def problems(self) -> list[str]:
        """Return what differs from the guarantees; empty if nothing does."""
        wrong = [
            f"{self.found.number(kind):,} deliveries {name}"
            for kind, name in _DELIVERIES.items()
            if kind in self.found.violations
        ]
        return wrong + [
            text for kind, texts in self.found.violations.items() if kind not in _DELIVERIES for text in texts
        ]

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        plan, expected = self.plan, self.found.counts["expected"]
        return {
            "streams": plan.streams,
            "sockets": plan.sockets,
            "messages": plan.messages,
            "expected": expected,
            "right": expected - self.found.number("lost"),
            "seconds": round(self.seconds, 2),
            "cpu_us_per_delivery": round(self.cpu_us / max(1, expected), 2),
            "cpu_us_per_message": round(self.cpu_us / plan.messages, 1),
            "memory_before_mb": round(self.watch.before / 1e6, 1),
            "memory_connected_mb": round(self.connected_memory / 1e6, 1),
            "memory_peak_mb": round(self.watch.peak / 1e6, 1),
            "health_checks": self.watch.checks,
            "slowest_health_ms": round(self.watch.slowest * 1000, 1),
            "closed_after_s": None if self.closed_after is None else round(self.closed_after, 1),
            "problems": self.problems(),
        }
