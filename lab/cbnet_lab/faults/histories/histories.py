"""Many histories, by consecutive seeds; those that have a result are not run again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from cbnet.errors import CbnetError
from cbnet_lab.bench.routing import Routing
from cbnet_lab.faults.histories.history import Event, write_history
from cbnet_lab.faults.histories.history_check import check_history
from cbnet_lab.faults.histories.history_findings import HistoryFindings
from cbnet_lab.faults.histories.history_results import HistoryResult, ResultFile

Runner: TypeAlias = Callable[[int, Routing], list[Event]]
SIMULATED, PROCESSES = "simulated", "processes"


@dataclass(frozen=True)
class HistoriesPlan:
    """Which histories to run."""

    kind: str
    seeds: Sequence[int]
    routings: Sequence[Routing]  # in turn
    max_seconds: float  # begin none after this time
    keep: Path | None = None  # folder for the histories that violate a promise

    def routing(self, seed: int) -> Routing:
        """Return the routing of a seed."""
        return self.routings[seed % len(self.routings)]


def run_histories(plan: HistoriesPlan, results: ResultFile) -> Iterator[HistoryResult]:
    """Run the histories without a result; add each result to the file, and yield it."""
    run = _runner(plan.kind)
    end = time.monotonic() + plan.max_seconds
    for seed in plan.seeds:
        routing = plan.routing(seed)
        if time.monotonic() >= end:
            return
        if not results.has(plan.kind, seed, str(routing)):
            result = _run(plan, seed, routing, run)
            results.add(result)
            yield result


def _run(plan: HistoriesPlan, seed: int, routing: Routing, run: Runner) -> HistoryResult:
    began = time.monotonic()
    try:
        events = run(seed, routing)
    except CbnetError as error:  # such as a router that does not start again
        check, events = HistoryFindings(), []
        check.violate("failed", str(error))
    else:
        check = check_history(events)
    if plan.keep is not None and not check.is_good:
        plan.keep.mkdir(parents=True, exist_ok=True)
        write_history(plan.keep / f"{plan.kind}-{seed}-{routing}.jsonl", events)
    return HistoryResult.of(plan.kind, seed, str(routing), time.monotonic() - began, check)


def _runner(kind: str) -> Runner:
    if kind == SIMULATED:
        from cbnet_lab.faults.histories.simulated_history import SimulatedHistory

        return lambda seed, routing: SimulatedHistory(seed, routing).run()
    from cbnet_lab.faults.histories.process_history import run_process_history

    return run_process_history
