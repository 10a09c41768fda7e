"""Many runs under faults: months, random schedules and histories, each identified by its seed and routing.

Results can be written as runs end, so that runs with a result are not repeated.
"""

from __future__ import annotations

import gc
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from cbnet.errors import CbnetError, InputError
from cbnet_lab.bench.plan_options import Routing
from cbnet_lab.bench.plans import Report
from cbnet_lab.bench.result_table import ResultTable
from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.check.findings import COUNTS, Findings
from cbnet_lab.faults.memory_history import MemoryHistory
from cbnet_lab.faults.month import Month
from cbnet_lab.faults.plans import HistoriesPlan, MonthPlan, RunsPlan
from cbnet_lab.faults.process_history import run_process_history
from cbnet_lab.faults.random_schedule import RandomSchedule

CHANGES = 25  # in each random schedule
_MAX_EXAMPLES = 20  # of each kind of violation
_MAX_SHOWN = 20  # runs with violations
_BROKEN = "runs with violations"
_GARBAGE = 1_000_000  # objects that a run may leave until they are searched for garbage


@dataclass(frozen=True)
class RunResult:
    """The findings of one run."""

    kind: str  # such as month
    seed: int
    trees: str
    seconds: float  # real time
    counts: dict[str, int]
    faults: dict[str, int]
    recoveries: dict[str, list[float]]  # seconds, by kind of change, or "several"
    violations: dict[str, list[str]]  # the first ones of each kind


def run(plan: RunsPlan, report: Report) -> Iterator[RunResult]:
    """Execute the runs that have no result yet."""
    end, known = time.monotonic() + plan.seconds, {(each.seed, each.trees) for each in _read(plan)}
    runs = [(seed, routing) for seed, routing in plan.runs() if (seed, str(routing)) not in known]
    with _collecting_between_runs():
        for number, (seed, routing) in enumerate(runs, 1):
            if time.monotonic() >= end:
                return
            title = f"{plan.kind} {number:,} of {len(runs):,}"
            report(title)
            yield _run(plan, seed, routing, lambda text, title=title: report(f"{title}: {text}"))  # type: ignore[misc]
            gc.collect()


@contextmanager
def _collecting_between_runs() -> Iterator[None]:
    """Collect hardly any garbage during a run: short ones take 7 % less time."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _run(plan: RunsPlan, seed: int, routing: Routing, report: Report) -> RunResult:
    began, found = time.monotonic(), Findings()
    try:
        found = _findings(plan, seed, routing, report)
    except CbnetError as error:  # such as a router that does not start again
        found.violate("failed", str(error))
    except Exception:  # of a simulated router or client; the other runs go on
        found.violate("crashed", traceback.format_exc())
    result = RunResult(
        kind=plan.kind,
        seed=seed,
        trees=str(routing),
        seconds=round(time.monotonic() - began, 2),
        counts={name: found.counts[name] for name in COUNTS},
        faults=dict(found.faults),
        recoveries={kind: [round(each, 3) for each in seconds] for kind, seconds in found.recoveries.items()},
        violations={kind: texts[:_MAX_EXAMPLES] for kind, texts in found.violations.items()},
    )
    if plan.output is not None:
        with Path(plan.output).open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")
    return result


def _findings(plan: RunsPlan, seed: int, routing: Routing, report: Report) -> Findings:
    if isinstance(plan, MonthPlan):
        return Month(plan, routing).run(report)
    if not isinstance(plan, HistoriesPlan):
        return RandomSchedule(seed, **routing.settings).run(CHANGES)
    if plan.simulated:
        return check_record(MemoryHistory(seed, routing).run())
    return check_record(run_process_history(seed, routing))


def _read(plan: RunsPlan) -> Iterator[RunResult]:
    """Yield the results of this kind in the output file."""
    path = Path(plan.output) if plan.output is not None else None
    if path is None or not path.exists():
        return
    *lines, torn = path.read_bytes().split(b"\n")
    if torn:  # the run was killed while writing
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    for number, line in enumerate(lines, 1):
        try:
            result = msgspec.json.decode(line, type=RunResult)
        except msgspec.DecodeError as error:
            raise InputError(f"line {number} is no result of a run: {error}", file=str(path)) from None
        if result.kind == plan.kind:
            yield result


def _all(plan: RunsPlan, rows: Sequence[RunResult]) -> list[RunResult]:
    """Return all results, including those of earlier runs."""
    return [*rows] if plan.output is None else [*_read(plan)]


def tables(
    plan: RunsPlan, rows: Sequence[RunResult]
) -> Iterator[str | ResultTable[str] | ResultTable[tuple[str, list[float]]]]:
    """Yield the sums of each routing, the recovery times, and the first violations."""
    results, sums, recoveries = _all(plan, rows), dict[str, Counter[str]](), dict[str, list[float]]()
    for each in results:
        own = sums.setdefault(each.trees, Counter())
        own.update({text: each.counts[name] for name, text in COUNTS.items()})
        own.update({f"fault: {kind}": count for kind, count in each.faults.items()})
        own.update({"runs": 1, _BROKEN: bool(each.violations)})
        for kind, seconds in each.recoveries.items():
            recoveries.setdefault(kind, []).extend(seconds)
    total = sum(sums.values(), Counter[str]())
    counts = [text for text in COUNTS.values() if total[text]]
    faults = sorted(name for name in total if name.startswith("fault"))
    columns = {f"trees {trees}": own.__getitem__ for trees, own in sums.items()}
    yield ResultTable(f"Runs: {plan.kind}", ["runs", *counts, *faults, _BROKEN], {"": str, **columns})
    if recoveries:
        yield ResultTable("Recovery: from a change until all routers know it", sorted(recoveries.items()), {
            "change": lambda row: row[0],
            "times": lambda row: len(row[1]),
            "p50 s": lambda row: float(np.percentile(row[1], 50)),
            "p95": lambda row: float(np.percentile(row[1], 95)),
            "longest": lambda row: max(row[1]),
        })  # fmt: skip
    for each in [each for each in results if each.violations][:_MAX_SHOWN]:
        for kind, texts in each.violations.items():
            yield f"seed {each.seed}, trees {each.trees}, {kind}: {texts[0]}"


def problems(plan: RunsPlan, rows: Sequence[RunResult]) -> Iterator[str]:
    """Yield the broken promises, including those of earlier runs."""
    broken = [each for each in _all(plan, rows) if each.violations]
    if broken:
        first = f"--trees {broken[0].trees} --seed {broken[0].seed}"
        yield f"promises broken in {len(broken):,} runs, first with {first}: please report this"
