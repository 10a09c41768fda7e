"""Comparison of a router with brokers: processor time of the server per message.

In each case all servers take turns for several rounds, so that noise affects them alike. A run with a wrong
delivery is reported, and its server is not measured again in this case.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import psutil

from cbnet_lab.bench.plans import Report, RouterPlan
from cbnet_lab.bench.result_table import FLAT, Cell, ResultTable, cell, ratio
from cbnet_lab.bench.router.generators import Generators
from cbnet_lab.bench.router.load import Case, Load, chosen_cases
from cbnet_lab.bench.router.servers import SERVERS, RivalServer, chosen_servers, start_rivals
from cbnet_lab.bench.timing import cpu_meter

_BASE = "nats"  # the server that the others are compared with


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
    load: Load = field(metadata=FLAT)
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
    problem: str | None  # the first wrong delivery, if any


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
        load=load,
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


def notes(plan: RouterPlan) -> Iterator[str]:
    """Yield the servers that are not measured."""
    chosen_cases(plan.cases)
    for kind in SERVERS.values() if plan.servers is None else ():
        if not kind.is_installed:
            yield f"{kind.name} is not installed, so it is not measured: apt-get install {kind.package}"


def run(plan: RouterPlan, report: Report) -> Generator[CaseResult]:
    """Measure all servers in each case; they run until the iterator ends or is closed."""
    cases, servers = chosen_cases(plan.cases), chosen_servers(plan.servers)
    with ExitStack() as stack:
        shared: list[RivalServer] = []  # by the cases that have no servers of their own
        for case in cases:
            with ExitStack() as own:
                if case.has_own_servers:
                    rivals = start_rivals(own, case, servers, plan, report)
                else:
                    rivals = shared = shared or start_rivals(stack, case, servers, plan, report)
                generators = own.enter_context(closing(Generators(case, plan.seed)))
                yield from _case_results(case, plan, rivals, generators, report)


def _case_results(
    case: Case, plan: RouterPlan, rivals: Sequence[RivalServer], generators: Generators, report: Report
) -> Iterator[CaseResult]:
    for rival in rivals:
        report(f"{case.name}: connecting clients of {rival.key}")
        generators.open(rival.key, *rival.targets)
    rounds: dict[str, list[Round]] = {rival.key: [] for rival in rivals}
    for number in range(plan.rounds):
        for rival in rivals:
            report(f"{case.name}: round {number + 1} of {plan.rounds}, {rival.key}")
            own = rounds[rival.key]
            if not any(each.problem for each in own):
                own.append(_round(rival, plan, generators))
    for rival in rivals:
        memory = [psutil.Process(pid).memory_info().rss / 1e6 for pid in rival.pids]
        yield case_result(case, rival, rounds[rival.key], memory)


def _round(rival: RivalServer, plan: RouterPlan, generators: Generators) -> Round:
    cpu = cpu_meter(rival.pids)
    sent, received, latencies = generators.run(rival.key, plan.messages, plan.seconds)
    used = [1e6 * each for each in cpu()]
    seconds = (received.at - sent.at) / 1e9
    problems = filter(None, (sent.problem, received.problem, rival.check_holder()))
    return Round(sent.messages, received.messages, seconds, used, latencies, "; ".join(problems) or None)


def tables(plan: RouterPlan, rows: Sequence[CaseResult]) -> Iterator[str | ResultTable[CaseResult]]:
    """Yield the configurations, and the processor time of each server in each case."""
    seen = {(row.version, row.tls, len(row.configurations)): row for row in reversed(rows)}
    for (version, is_tls, _), row in reversed(seen.items()):
        yield f"{version}, TLS" if is_tls else version
        yield from ("  " + configuration.replace("\n", "\n  ") for configuration in row.configurations)
    yield f"\nprocessor time of the server: best of {plan.rounds} rounds, all servers in turn; seed {plan.seed}"
    for case in chosen_cases(plan.cases):
        yield _table(case, [row for row in rows if row.case == case.name])
    is_right = all(row.problem is None for row in rows)
    right = "every subscriber received every message once, in order and byte by byte."
    yield f"answers: {right if is_right else 'WRONG'}"


def _table(case: Case, rows: Sequence[CaseResult]) -> ResultTable[CaseResult]:
    base = next((row.cpu_us_per_message for row in rows if row.server == _BASE), None)
    columns: dict[str, Cell[CaseResult]] = {
        "server": "server",
        "filters": "filters",
        "µs/message": "cpu_us_per_message",
        "µs/delivery": "cpu_us_per_delivery",
        "messages/s": "messages_per_s",
        f"× {_BASE}": lambda row: ratio(row.cpu_us_per_message, base),
        "MB": lambda row: " + ".join(map(cell, row.rss_mb)),
    }
    if case.is_transit:
        columns["µs of each router"] = lambda row: " + ".join(map(cell, row.process_cpu_us_per_message))
    if case.has_probe:
        columns |= {"p50 ms": "probe_p50_ms", "p99 ms": "probe_p99_ms"}
    return ResultTable(f"{case.name}: {case.text}", rows, columns)
