"""The forwarding benchmark: time per message of each engine.

All engines of a run get the same filters and messages and must agree with each other, and with the
reference on all messages or a sample.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cbnet.matching.engines.registry import CountingOptions
from cbnet_lab.bench.bench_input import BenchInput, bench_input, parameters_of
from cbnet_lab.bench.matching.engine_rival import EngineAnswer, EngineRival
from cbnet_lab.bench.matching.oracle import ExpectedMatches, expected_matches
from cbnet_lab.bench.parallel_matching import ONE, TWO, matching_processes
from cbnet_lab.bench.plans import ForwardingPlan, Report
from cbnet_lab.bench.result_table import HIDDEN, ResultTable, ratio
from cbnet_lab.bench.timing import Passes, passes


@dataclass(frozen=True, kw_only=True)
class EngineResult:
    """Measurements of an engine; None where one does not apply."""

    engine: str
    filters: int
    interfaces: int
    constraints: int
    build_s: float  # from an Arrow table
    bytes_per_constraint: float | None = None  # of the file, without reduction
    us_single: float  # all times are per message
    us_batch: float | None = None
    us_batch_2threads: float | None = None
    us_json_loads: float | None = None
    touched: float | None = None  # entries or postings read after the look-up, per message
    matched: float  # interfaces per message
    equal: bool
    speedup_2threads: float | None = None  # of the batch, over one thread
    speedup_2processes: float | None = None  # of the same work, over one process: the upper bound
    problem: str | None = field(default=None, metadata=HIDDEN)
    checked: str = field(default="", metadata=HIDDEN)


def run(plan: ForwardingPlan, report: Report) -> Iterator[EngineResult]:
    """Measure engines on a workload; the comparison of processes always uses the default options of counting."""
    parameters = parameters_of(
        plan.mix, filters=plan.filters, interfaces=plan.interfaces, messages=plan.messages, names=plan.names,
        settings=plan.settings, seed=plan.seed,
    )  # fmt: skip
    given = bench_input(parameters, report, plan.conditions)
    expected = expected_matches(given, report)
    first: EngineAnswer | None = None
    for engine in plan.engine:
        rival = EngineRival(engine, given, report, CountingOptions(plan.rounds, plan.short_circuit))
        first = first or rival.answer
        yield _measured(rival, given, expected, first, plan.seconds, report)
    if expected.us_single is not None:
        yield _reference(given, expected)


def _measured(
    rival: EngineRival,
    given: BenchInput,
    expected: ExpectedMatches,
    first: EngineAnswer,
    seconds: float,
    report: Report,
) -> EngineResult:
    compiled, batch, about, count = rival.compiled, rival.batch, rival.compiled.metadata, len(rival.batch)
    report(f"{rival.engine}: checking its answers")
    wrong = [*rival.differences(expected, first)]
    report(f"{rival.engine}: timing")
    methods: dict[str, Passes] = {
        "us_single": passes(rival.match_singly),
        "us_batch": passes(lambda: compiled.match_batch(batch)),
        "us_batch_2threads": passes(lambda: compiled.match_batch(batch, 2)),
        "us_json_loads": passes(lambda: [json.loads(text) for text in given.texts] and None),
    }
    with TemporaryDirectory(prefix="cbnet-") as folder:
        path = Path(folder) / "table.cbt"
        compiled.save(path)
        with matching_processes(path, given.messages) as processes:
            best = rival.microseconds({**methods, **processes}, seconds)
        report(f"{rival.engine}: measuring its file")
        size = rival.unreduced().save(path)
    times: dict[str, Any] = {name: best[name] for name in methods}
    return EngineResult(
        **{key: about[key] for key in ("engine", "filters", "interfaces", "constraints")},
        build_s=rival.build_s,
        bytes_per_constraint=size / max(1, about["constraints"]),
        **times,
        touched=rival.touched / count,
        matched=len(rival.answer.targets) / count,
        equal=not wrong,
        speedup_2threads=best["us_batch"] / best["us_batch_2threads"],
        speedup_2processes=best[ONE] / best[TWO],
        problem=f"{rival.engine} differs from {', '.join(wrong)}" if wrong else None,
        checked=expected.summary(count),
    )


def _reference(given: BenchInput, expected: ExpectedMatches) -> EngineResult:
    """Return the measurements of the reference, which has no file, batches or threads."""
    assert expected.build_s is not None
    assert expected.us_single is not None
    return EngineResult(
        engine="reference",
        filters=len(given.columns),
        interfaces=len(given.columns.interfaces),
        constraints=len(given.columns.words),
        build_s=expected.build_s,
        us_single=expected.us_single,
        matched=expected.deliveries / len(given.members),
        equal=True,  # to itself; differences are reported for the engines
    )


def tables(plan: ForwardingPlan, rows: Sequence[EngineResult]) -> Iterator[str | ResultTable[EngineResult]]:
    """Yield the times, the work and the speed-ups of all engines."""
    first = rows[0]
    sizes = f"{first.filters:,} filters, {first.constraints:,} constraints, {first.interfaces:,} interfaces"
    yield f"{plan.mix} mix, seed {plan.seed}: {sizes}\n"
    yield ResultTable("Microseconds per message", rows, {
        "engine": "engine",
        "single": "us_single",
        "batch": "us_batch",
        "2 threads": "us_batch_2threads",
        "json.loads": "us_json_loads",
        "single / json": lambda row: ratio(row.us_single, row.us_json_loads),
        "batch / json": lambda row: ratio(row.us_batch, row.us_json_loads),
        f"batch / {first.engine}": lambda row: ratio(row.us_batch, first.us_batch),
    })  # fmt: skip
    yield ResultTable("Building; entries touched and interfaces matched per message", rows, {
        "engine": "engine",
        "build s": "build_s",
        "bytes / constraint": "bytes_per_constraint",
        "touched": "touched",
        "matched": "matched",
        "touched / matched": lambda row: ratio(row.touched, row.matched),
    })  # fmt: skip
    yield ResultTable("Speed-up with two workers", rows[: len(plan.engine)], {
        "engine": "engine",
        "threads": "speedup_2threads",
        "processes": "speedup_2processes",
        "threads / processes": lambda row: ratio(row.speedup_2threads, row.speedup_2processes),
    })  # fmt: skip
    is_equal = all(row.equal for row in rows)
    yield "All engines and call paths give the same answers." if is_equal else "The answers DIFFER."
    yield first.checked
