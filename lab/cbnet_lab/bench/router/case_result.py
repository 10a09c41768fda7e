"""Measurements of one case on one server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cbnet_lab.bench.router.cases import Case
    from cbnet_lab.bench.router.rivals import RivalServer


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
    """Measurements of a case on a server, or on two routers in a row."""

    case: str
    server: str
    version: str
    configurations: Sequence[str]  # of each process
    filters: int | None
    tls: bool
    subscribers: int
    publishers: int
    batch: int
    payload: int
    window: int
    messages: int  # of the best round, with the least processor time per message
    deliveries: int
    cpu_us_per_message: float
    cpu_us_per_delivery: float
    process_cpu_us_per_message: Sequence[float]
    rounds_cpu_us_per_message: Sequence[float]
    messages_per_s: int  # of the fastest round
    rounds_messages_per_s: Sequence[int]
    probe_p50_ms: float | None  # in all rounds
    probe_p99_ms: float | None
    rss_mb: Sequence[float]  # of each process, afterwards
    problem: str | None  # the first wrong delivery, if there was one


def case_result(case: Case, rival: RivalServer, rounds: Sequence[Round], megabytes: Sequence[float]) -> CaseResult:
    """Return the measurements of all rounds."""
    load, best = case.load, min(rounds, key=lambda each: each.cpu_per_message)
    speeds = [round(each.messages_per_s) for each in rounds]
    latencies = list(chain.from_iterable(each.latencies for each in rounds))
    p50, p99 = np.percentile(latencies, (50, 99)) / 1e6 if latencies else (None, None)
    problem = next((each.problem for each in rounds if each.problem is not None), None)
    return CaseResult(
        case=case.name,
        server=rival.kind.name,
        version=rival.kind.version(),
        configurations=[str(server.setup) for server in rival.servers],
        filters=rival.filters,
        tls=case.is_tls,
        subscribers=load.subscribers,
        publishers=load.publishers,
        batch=load.batch,
        payload=load.payload,
        window=load.window,
        messages=best.messages,
        deliveries=best.deliveries,
        cpu_us_per_message=best.cpu_per_message,
        cpu_us_per_delivery=best.cpu_per_message / load.subscribers,
        process_cpu_us_per_message=[each / max(1, best.messages) for each in best.cpu],
        rounds_cpu_us_per_message=[each.cpu_per_message for each in rounds],
        messages_per_s=max(speeds),
        rounds_messages_per_s=speeds,
        probe_p50_ms=p50,
        probe_p99_ms=p99,
        rss_mb=[round(each, 1) for each in megabytes],
        problem=problem and f"{case.name}, {rival.key}: {problem}",
    )
