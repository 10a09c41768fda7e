"""Measurement of a router beside brokers: processor time of the server per message.

In each case all servers take turns for several rounds, so that noise affects them alike. A run with a wrong
delivery is reported, and its server is not measured again in this case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import psutil

from cbnet.lab.bench.bench_input import Report
from cbnet.lab.bench.router.cases import Case
from cbnet.lab.bench.router.generators import Generators
from cbnet.lab.bench.router.load import Until
from cbnet.lab.bench.router.rivals import Rival, start_rivals


@dataclass(frozen=True)
class RouterPlan:
    """What to compare."""

    cases: Sequence[Case]
    servers: Sequence[str]
    filters: Sequence[int]
    until: Until
    rounds: int = 3
    seed: int = 0


@dataclass(frozen=True)
class Round:
    """One run of a case on a server."""

    messages: int
    deliveries: int
    seconds: float
    cpu: float  # µs of the server
    problem: str | None = None

    @property
    def cpu_per_message(self) -> float:
        """Processor time of the server, in µs."""
        return self.cpu / max(1, self.messages)

    @property
    def messages_per_s(self) -> float:
        """Messages per second, until the last delivery."""
        return self.messages / self.seconds


@dataclass(frozen=True)
class CaseResult:
    """All rounds of a case on a server."""

    case: Case
    server: str
    filters: int | None
    rounds: Sequence[Round]
    memory: int  # bytes, afterwards

    @property
    def best(self) -> Round:
        """The round with the least processor time per message."""
        return min(self.rounds, key=lambda each: each.cpu_per_message)

    @property
    def problem(self) -> str | None:
        """The first wrong delivery, if there was one."""
        return next((each.problem for each in self.rounds if each.problem is not None), None)

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        load, best = self.case.load, self.best
        return {
            "case": self.case.name,
            "server": self.server,
            "filters": self.filters,
            "subscribers": load.subscribers,
            "publishers": load.publishers,
            "batch": load.batch,
            "payload": load.payload,
            "window": load.window,
            "messages": best.messages,
            "deliveries": best.deliveries,
            "cpu_us_per_message": round(best.cpu_per_message, 3),
            "cpu_us_per_delivery": round(best.cpu_per_message / load.subscribers, 4),
            "rounds_cpu_us_per_message": [round(each.cpu_per_message, 3) for each in self.rounds],
            "messages_per_s": round(max(each.messages_per_s for each in self.rounds)),
            "rounds_messages_per_s": [round(each.messages_per_s) for each in self.rounds],
            "rss_mb": round(self.memory / 1e6, 1),
            "problem": self.problem,
        }


@dataclass(frozen=True)
class Comparison:
    """The servers, as they were started, and their results."""

    configurations: Sequence[tuple[str, str]]  # name and version, command line and file
    results: Iterator[CaseResult]


def compare(stack: ExitStack, plan: RouterPlan, report: Report) -> Comparison:
    """Start all servers; they are measured while the results are read."""
    rivals = start_rivals(stack, plan.servers, plan.filters, plan.seed, report)
    generators = stack.enter_context(Generators())
    seen = {rival.name: rival for rival in reversed(rivals)}
    configurations = [(rival.server.kind.version(), rival.server.configuration) for rival in reversed(seen.values())]
    return Comparison(configurations, _results(plan, rivals, generators, report))


def _results(plan: RouterPlan, rivals: Sequence[Rival], generators: Generators, report: Report) -> Iterator[CaseResult]:
    for case in plan.cases:
        yield from _case_results(case, plan, rivals, generators, report)


def _case_results(
    case: Case, plan: RouterPlan, rivals: Sequence[Rival], generators: Generators, report: Report
) -> Iterator[CaseResult]:
    rounds: dict[str, list[Round]] = {rival.key: [] for rival in rivals}
    for rival in rivals:
        report(f"{case.name}: connecting clients of {rival.key}")
        generators.open(rival.key, rival.server.target, rival.server.target, case.load)
    for number in range(plan.rounds):
        for rival in rivals:
            report(f"{case.name}: round {number + 1}, {rival.key}")
            own = rounds[rival.key]
            if not any(each.problem for each in own):
                own.append(_round(rival, plan.until, generators))
    for rival in rivals:
        memory = psutil.Process(rival.server.pid).memory_info().rss
        generators.close(rival.key)
        yield CaseResult(case, rival.name, rival.filters, rounds[rival.key], memory)


def _round(rival: Rival, until: Until, generators: Generators) -> Round:
    before = rival.cpu()
    sent, received = generators.run(rival.key, until)
    cpu = (rival.cpu() - before) / 1000
    return Round(sent.messages, received.deliveries, (received.ended - sent.began) / 1e9, cpu, received.problem)
