"""Many histories, by consecutive seeds; their results are written as they end, so that a run can be continued later."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from cbnet.errors import CbnetError, InputError
from cbnet_lab.bench.routing import Routing
from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.record import Event, write_record

Runner: TypeAlias = Callable[[int, Routing], list[Event]]
SIMULATED, PROCESSES = "simulated", "processes"
COUNTS = ("published", "stored", "silent", "refused", "due", "replayed", "received", "repeated")
_MAX_EXAMPLES = 3  # of each kind of violation


class HistoryResult(msgspec.Struct, frozen=True):
    """The check of one history."""

    kind: str  # simulated, or processes
    seed: int
    trees: str
    seconds: float  # of this machine
    counts: dict[str, int]
    faults: dict[str, int]
    violations: dict[str, list[str]]  # the first ones of each kind

    def members(self) -> dict[str, Any]:
        """Return the members of a JSON object."""
        return dict(msgspec.to_builtins(self))


@dataclass
class HistoryTotals:
    """The sum of results."""

    histories: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    broken: list[HistoryResult] = field(default_factory=list)


class ResultFile:
    """The file of results, in JSON Lines; without a path, results are only kept in memory."""

    def __init__(self, path: Path | None) -> None:
        """Read the results that the file has."""
        self._path = path
        self._results: dict[tuple[str, int, str], HistoryResult] = {}
        for result in _read(path) if path is not None and path.exists() else ():
            self._results[result.kind, result.seed, result.trees] = result

    def has(self, kind: str, seed: int, trees: str) -> bool:
        """Return whether a history has a result."""
        return (kind, seed, trees) in self._results

    def add(self, result: HistoryResult) -> None:
        """Add a result, and write it."""
        self._results[result.kind, result.seed, result.trees] = result
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(result) + b"\n")

    def totals(self, kind: str) -> HistoryTotals:
        """Return the sum of all results of a kind."""
        totals = HistoryTotals()
        for result in self._results.values():
            if result.kind == kind:
                totals.histories += 1
                totals.counts.update(result.counts)
                totals.faults.update(result.faults)
                totals.broken += [result] if result.violations else []
        return totals


def _read(path: Path) -> Iterator[HistoryResult]:
    *lines, torn = path.read_bytes().split(b"\n")
    if torn:  # the run was killed while it wrote
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    for number, line in enumerate(lines, 1):
        try:
            yield msgspec.json.decode(line, type=HistoryResult)
        except msgspec.DecodeError as error:
            raise InputError(f"line {number} is no result of a history: {error}", file=str(path)) from None


@dataclass(frozen=True)
class HistoriesPlan:
    """Which histories to run."""

    kind: str
    seeds: Sequence[int]
    routings: Sequence[Routing]  # in turn
    max_seconds: float  # begin none after this time
    keep: Path | None = None  # folder for the records that violate a promise


def run_histories(plan: HistoriesPlan, results: ResultFile) -> Iterator[HistoryResult]:
    """Run the histories without a result; add each result to the file, and yield it."""
    run = _runner(plan.kind)
    end = time.monotonic() + plan.max_seconds
    for seed in plan.seeds:
        routing = plan.routings[seed % len(plan.routings)]
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
        found, events = Findings(), []
        found.violate("failed", str(error))
    else:
        found = check_record(events)
    if plan.keep is not None and not found.is_good:
        plan.keep.mkdir(parents=True, exist_ok=True)
        write_record(plan.keep / f"{plan.kind}-{seed}-{routing}.jsonl", events)
    examples = {name: texts[:_MAX_EXAMPLES] for name, texts in found.violations.items()}
    counts, seconds = {name: found.counts[name] for name in COUNTS}, round(time.monotonic() - began, 2)
    return HistoryResult(plan.kind, seed, str(routing), seconds, counts, dict(found.faults), examples)


def _runner(kind: str) -> Runner:
    if kind == SIMULATED:
        from cbnet_lab.faults.histories.memory_history import MemoryHistory

        return lambda seed, routing: MemoryHistory(seed, routing).run()
    from cbnet_lab.faults.histories.process_history import run_process_history

    return run_process_history
