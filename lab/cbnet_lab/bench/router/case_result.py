"""Measurements of one case on one server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from cbnet_lab.bench.router.cases import Case


@dataclass(frozen=True)
class Round:
    """One run of a case on a server."""

    messages: int
    deliveries: int
    seconds: float  # until the last delivery
    cpu: Sequence[float]  # µs of each server process
    latencies: Sequence[int] = ()  # ns, of the probe's messages
    problem: str | None = None

    @property
    def cpu_per_message(self) -> float:
        """Processor time of all server processes, in µs."""
        return sum(self.cpu) / max(1, self.messages)

    @property
    def messages_per_s(self) -> float:
        """Messages per second, until the last delivery."""
        return self.messages / self.seconds


@dataclass(frozen=True)
class CaseResult:
    """All rounds of a case on a server, or on two routers in a row."""

    case: Case
    server: str
    version: str
    configurations: Sequence[str]  # of each process
    filters: int | None
    rounds: Sequence[Round]
    memory: Sequence[int]  # bytes of each process, afterwards

    @property
    def best(self) -> Round:
        """The round with the least processor time per message."""
        return min(self.rounds, key=lambda each: each.cpu_per_message)

    @property
    def messages_per_s(self) -> float:
        """Messages per second of the fastest round."""
        return max(each.messages_per_s for each in self.rounds)

    @property
    def problem(self) -> str | None:
        """The first wrong delivery, if there was one."""
        return next((each.problem for each in self.rounds if each.problem is not None), None)

    def latency(self, percent: float) -> float | None:
        """Return a percentile of the latency of the probe in all rounds, in ms; None without a probe."""
        latencies = list(chain.from_iterable(each.latencies for each in self.rounds))
        return float(np.percentile(latencies, percent)) / 1e6 if latencies else None

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        load, best = self.case.load, self.best
        return {
            "case": self.case.name,
            "server": self.server,
            "version": self.version,
            "configurations": list(self.configurations),
            "filters": self.filters,
            "tls": self.case.is_tls,
            "subscribers": load.subscribers,
            "publishers": load.publishers,
            "batch": load.batch,
            "payload": load.payload,
            "window": load.window,
            "messages": best.messages,
            "deliveries": best.deliveries,
            "cpu_us_per_message": round(best.cpu_per_message, 3),
            "cpu_us_per_delivery": round(best.cpu_per_message / load.subscribers, 4),
            "process_cpu_us_per_message": [round(each / max(1, best.messages), 3) for each in best.cpu],
            "rounds_cpu_us_per_message": [round(each.cpu_per_message, 3) for each in self.rounds],
            "messages_per_s": round(self.messages_per_s),
            "rounds_messages_per_s": [round(each.messages_per_s) for each in self.rounds],
            "probe_p50_ms": _rounded(self.latency(50)),
            "probe_p99_ms": _rounded(self.latency(99)),
            "rss_mb": [round(each / 1e6, 1) for each in self.memory],
            "problem": self.problem,
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
