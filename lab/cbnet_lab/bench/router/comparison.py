"""Measurement of a router beside brokers: processor time of the server per message.

In each case all servers take turns for several rounds, so that noise affects them alike. A run with a wrong
delivery is reported, and its server is not measured again in this case.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from cbnet_lab.bench.bench_input import Report
from cbnet_lab.bench.router.case_result import CaseResult, Round
from cbnet_lab.bench.router.cases import Case
from cbnet_lab.bench.router.generators import Generators
from cbnet_lab.bench.router.load import Until
from cbnet_lab.bench.router.rivals import RivalServer, start_rivals


@dataclass(frozen=True)
class RouterPlan:
    """What to compare."""

    cases: Sequence[Case]
    servers: Sequence[str]
    filters: Sequence[int]
    until: Until
    rounds: int
    seed: int


def compare(plan: RouterPlan, report: Report) -> Generator[CaseResult]:
    """Measure all servers in each case; they run until the iterator ends or is closed."""
    with ExitStack() as stack:
        generators = stack.enter_context(Generators())
        shared: list[RivalServer] = []  # by the cases without servers of their own
        for case in plan.cases:
            if case.has_own_servers:
                with ExitStack() as own:
                    rivals = start_rivals(own, case, plan.servers, plan.filters, plan.seed, report)
                    yield from _case_results(case, plan, rivals, generators, report)
            else:
                shared = shared or start_rivals(stack, case, plan.servers, plan.filters, plan.seed, report)
                yield from _case_results(case, plan, shared, generators, report)


def _case_results(
    case: Case, plan: RouterPlan, rivals: Sequence[RivalServer], generators: Generators, report: Report
) -> Iterator[CaseResult]:
    load = replace(case.load, seed=plan.seed)
    for rival in rivals:
        report(f"{case.name}: connecting clients of {rival.key}")
        generators.open(rival.key, *rival.targets, load, has_probe=case.has_probe)
    rounds: dict[str, list[Round]] = {rival.key: [] for rival in rivals}
    for number in range(plan.rounds):
        for rival in rivals:
            report(f"{case.name}: round {number + 1} of {plan.rounds}, {rival.key}")
            own = rounds[rival.key]
            if not any(each.problem for each in own):
                own.append(_round(rival, case, plan.until, generators))
    for rival in rivals:
        memory = [server.memory() for server in rival.servers]
        generators.close(rival.key, has_probe=case.has_probe)
        yield CaseResult(
            case, rival.name, rival.servers[0].kind.version(), [server.configuration for server in rival.servers],
            rival.filters, rounds[rival.key], memory,
        )  # fmt: skip


def _round(rival: RivalServer, case: Case, until: Until, generators: Generators) -> Round:
    before = rival.cpu()
    sent, received, latencies = generators.run(rival.key, until, has_probe=case.has_probe)
    cpu = [(after - then) / 1000 for after, then in zip(rival.cpu(), before, strict=True)]
    seconds = (received.ended - sent.began) / 1e9
    problems = filter(None, (sent.problem, received.problem, rival.check_holder()))
    return Round(sent.messages, received.deliveries, seconds, cpu, latencies, "; ".join(problems) or None)
