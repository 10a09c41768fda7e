"""Many histories, by consecutive seeds; their results are written as they end, so that a run can be continued later."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from cbnet.errors import CbnetError, InputError
from cbnet_lab.bench.result_table import ResultTable
from cbnet_lab.faults.check.checker import check_record
from cbnet_lab.faults.check.findings import Findings
from cbnet_lab.faults.record import Event, read_record, write_record

if TYPE_CHECKING:
    from cbnet_lab.bench.bench_input import Report
    from cbnet_lab.bench.routing import Routing
    from cbnet_lab.faults.plans import HistoriesPlan

Key: TypeAlias = tuple[str, int, str]
_COUNTS = {
    "published": "messages published",
    "stored": "with a receipt",
    "silent": "not stored: homes silent",
    "refused": "not stored: disk full",
    "due": "due to subscriptions",
    "replayed": "due to subscriptions from the past",
    "received": "received",
    "repeated": "received again",
}
_MAX_EXAMPLES = 3  # of each kind of violation
_MAX_SHOWN = 20  # histories with violations


@dataclass(frozen=True)
class HistoryResult:
    """The check of one history."""

    kind: str  # simulated, or processes
    seed: int
    trees: str
    seconds: float  # of this machine
    counts: dict[str, int]
    faults: dict[str, int]
    violations: dict[str, list[str]]  # the first ones of each kind

    @property
    def key(self) -> Key:
        """The identity of a history."""
        return self.kind, self.seed, self.trees


@dataclass(frozen=True)
class CheckedRecord:
    """The check of a record that was kept."""

    published: int
    due: int
    violations: dict[str, list[str]]


def run(plan: HistoriesPlan, report: Report) -> Iterator[HistoryResult | CheckedRecord]:
    """Run the histories that have no result yet, or check the one that was kept."""
    if plan.check is not None:
        found = check_record(read_record(Path(plan.check)))
        yield CheckedRecord(found.counts["published"], found.counts["due"], found.violations)
        return
    end, known = time.monotonic() + plan.seconds, {each.key for each in _read(plan)}
    for number, seed in enumerate(range(plan.seed, plan.seed + plan.histories)):
        routing = plan.trees[seed % len(plan.trees)]
        if time.monotonic() >= end:
            return
        if (plan.kind, seed, str(routing)) not in known:
            report(f"history {number + 1:,} of {plan.histories:,}")
            yield _run(plan, seed, routing)


def _run(plan: HistoriesPlan, seed: int, routing: Routing) -> HistoryResult:
    began, found, events = time.monotonic(), Findings(), list[Event]()
    try:
        events = _events(plan, seed, routing)
    except CbnetError as error:  # such as a router that does not start again
        found.violate("failed", str(error))
    else:
        found = check_record(events)
    if plan.keep is not None and not found.is_good:
        Path(plan.keep).mkdir(parents=True, exist_ok=True)
        write_record(Path(plan.keep) / f"{plan.kind}-{seed}-{routing}.jsonl", events)
    examples = {name: texts[:_MAX_EXAMPLES] for name, texts in found.violations.items()}
    counts, seconds = {name: found.counts[name] for name in _COUNTS}, round(time.monotonic() - began, 2)
    result = HistoryResult(plan.kind, seed, str(routing), seconds, counts, dict(found.faults), examples)
    if plan.output is not None:
        with Path(plan.output).open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")
    return result


def _events(plan: HistoriesPlan, seed: int, routing: Routing) -> list[Event]:
    if plan.simulated:
        from cbnet_lab.faults.histories.memory_history import MemoryHistory

        return MemoryHistory(seed, routing).run()
    from cbnet_lab.faults.histories.process_history import run_process_history

    return run_process_history(seed, routing)


def _read(plan: HistoriesPlan) -> Iterator[HistoryResult]:
    """Yield the results of this kind that the output file has."""
    path = Path(plan.output) if plan.output is not None else None
    if path is None or not path.exists():
        return
    *lines, torn = path.read_bytes().split(b"\n")
    if torn:  # the run was killed while it wrote
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    for number, line in enumerate(lines, 1):
        try:
            result = msgspec.json.decode(line, type=HistoryResult)
        except msgspec.DecodeError as error:
            raise InputError(f"line {number} is no result of a history: {error}", file=str(path)) from None
        if result.kind == plan.kind:
            yield result


def _results(plan: HistoriesPlan, rows: Sequence[HistoryResult]) -> list[HistoryResult]:
    """Return all results, including those of earlier runs."""
    return [*{each.key: each for each in (*_read(plan), *rows)}.values()]


def tables(plan: HistoriesPlan, rows: Sequence[Any]) -> Iterator[str | ResultTable[tuple[str, int]]]:
    """Yield the sums over all histories, and the first violations."""
    if plan.check is not None:
        for row in rows:
            yield f"{row.published:,} messages published, {row.due:,} due to subscriptions"
            yield from (f"{kind}: {text}" for kind, texts in row.violations.items() for text in texts)
        return
    results, counts, faults = _results(plan, rows), Counter[str](), Counter[str]()
    for each in results:
        counts.update(each.counts)
        faults.update(each.faults)
    broken = [each for each in results if each.violations]
    sums = [("histories", len(results)), *((text, counts[name]) for name, text in _COUNTS.items())]
    sums += [(f"fault: {name}", count) for name, count in sorted(faults.items())]
    sums.append(("histories with violations", len(broken)))
    yield ResultTable(f"Histories: {plan.kind}", sums, {"": lambda row: row[0], "number": lambda row: row[1]})
    for each in broken[:_MAX_SHOWN]:
        for name, texts in each.violations.items():
            yield f"seed {each.seed}, trees {each.trees}, {name}: {texts[0]}"


def problems(plan: HistoriesPlan, rows: Sequence[Any]) -> Iterator[str]:
    """Yield the broken promises, including those of earlier runs."""
    if plan.check is not None:
        yield from (f"promises broken: {', '.join(row.violations)}" for row in rows if row.violations)
        return
    broken = [each for each in _results(plan, rows) if each.violations]
    if broken:
        yield f"promises broken in {len(broken):,} histories, first with --seed {broken[0].seed}"
