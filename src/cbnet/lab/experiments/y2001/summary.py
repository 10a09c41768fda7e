"""Savings of the constraint index and of the short-circuit by interface [2001 §4.1, §4.3, §5]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import pyarrow as pa

from cbnet.lab.bench.bench_input import BenchInput, bench_input
from cbnet.lab.bench.oracle import Oracle
from cbnet.lab.bench.timing import passes
from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import (
    Interval,
    Row,
    as_table,
    duration,
    format_number,
    grouped,
    medians,
    ratio,
    summary,
    where,
)
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.inputs import dictionary
from cbnet.lab.experiments.timing import COUNTING, PIVOT, TIMES, MatchMethod, TimedComparison
from cbnet.lab.experiments.unknown_attributes import with_unknown_attributes
from cbnet.lab.report.chart import Chart
from cbnet.lab.workload import Forwarding2001
from cbnet.language.message import Message
from cbnet.matching import reference
from cbnet.matching.compiled_table import CompiledTable

_OFF = MatchMethod("counting, no short-circuit", short_circuit=False)
_SCAN = "scan of all filters"
_SAME = 2.0  # factor within which a time counts as independent of the table
_CHEAP = 0.25
_SAVES = 2.0
_PASSES = 5


@dataclass(frozen=True)
class SummaryParameters:
    """Filters per table, filters of the scanned table, names in common, interfaces, names and messages."""

    filters: tuple[int, ...] = (1000, 10_000, 100_000)
    scanned: int = 2000
    common: tuple[int, ...] = (0, 1, 2, 4, 6, 8, 10)
    interfaces: tuple[int, ...] = (2, 50)
    names: int = 100
    messages: int = 300
    turns: int = 5
    seconds: float = 0.02


def _run(parameters: SummaryParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    disjoint: list[Row] = []
    short: list[Row] = []
    for done, filters in enumerate(parameters.filters):
        context.progress(done, len(parameters.filters) + 1, f"{filters:,} filters")
        for interfaces in parameters.interfaces:
            data = bench_input(_mix(parameters, filters, interfaces, context), lambda _: None)
            short += TimedComparison(data, (COUNTING, _OFF, PIVOT)).rows(parameters.turns, parameters.seconds)
        disjoint += _single(with_unknown_attributes(data, 0), parameters)  # with the most interfaces
    context.progress(len(parameters.filters), len(parameters.filters) + 1, "names in common")
    common = _common(parameters, context)
    return {"disjoint": as_table(disjoint), "short": as_table(short), "common": as_table(common)}


def _mix(parameters: SummaryParameters, filters: int, interfaces: int, context: ExperimentContext) -> Forwarding2001:
    return Forwarding2001(
        N=parameters.messages, F=filters, I=interfaces, A=parameters.names, dictionary=dictionary(context),
        seed=context.seed,
    )  # fmt: skip


def _single(data: BenchInput, parameters: SummaryParameters) -> list[Row]:
    """Return the times of messages matched one by one, which include looking up their names, and their work."""
    comparison = TimedComparison(data, (COUNTING, PIVOT))
    return [
        {
            "filters": len(data.columns), "method": method.name, "turn": turn, "postings": matched.work["postings"],
            "matched": len(matched.answer.targets), "us": _pass(comparison.compiled[method.engine], data) * 1e6,
        }
        for method, matched in zip(comparison.methods, comparison.checked(), strict=True)
        for turn in range(parameters.turns)
    ]  # fmt: skip


def _pass(compiled: CompiledTable, data: BenchInput) -> float:
    """Return the seconds per message, the best of some passes."""
    run = passes(lambda: [compiled.match(members) for members in data.members] and None)
    return min(run(1) for _ in range(_PASSES)) / len(data.members)


def _common(parameters: SummaryParameters, context: ExperimentContext) -> list[Row]:
    """Return the times with the index and with a scan for messages of 10 attributes, by names in common."""
    mix = replace(_mix(parameters, parameters.scanned, parameters.interfaces[-1], context), AN=(10, 10))
    data = bench_input(mix, lambda _: None)
    predicates = Oracle(data.filters).all_predicates()
    comparison = TimedComparison(data, (COUNTING, PIVOT))
    rows: list[Row] = []
    for common in parameters.common:
        renamed = with_unknown_attributes(data, common)
        timings = comparison.with_messages(renamed).rows(parameters.turns, parameters.seconds)
        rows += [{"common": common, **row} for row in timings]
        for turn, members in enumerate(renamed.members[: parameters.turns]):
            message = Message.from_dict(members)
            start = perf_counter()
            reference.match(predicates, message)
            rows.append({"common": common, "method": _SCAN, "turn": turn, "us": (perf_counter() - start) * 1e6})
    return rows


def _findings(tables: Tables, _: SummaryParameters) -> list[Finding]:
    rows = {name: table.to_pylist() for name, table in tables.items()}
    return [_disjoint(rows["disjoint"]), _cheap(rows["common"]), _short(rows["short"]), _without_rivals()]


def _disjoint(rows: list[Row]) -> Finding:
    curve = medians(where(rows, method=COUNTING.name), "filters")
    first, last = min(curve), max(curve)
    growth = curve[last] / curve[first]
    touched, matched = (max(row[name] for row in rows) for name in ("postings", "matched"))
    ours = (
        f"{duration(curve[first])} at {first:,} filters, {duration(curve[last])} at {last:,}; "
        f"{format_number(touched)} postings, {format_number(matched)} matches"
    )
    if touched or matched:
        return Finding(4, ours, "fails", "postings are touched or interfaces matched")
    if 1 / _SAME <= growth <= _SAME:
        return Finding(4, ours, "holds")
    return Finding(4, ours, "differs", "no posting is touched, but the time depends on the table (memory or noise)")


def _cheap(rows: list[Row]) -> Finding:
    index = medians(where(rows, method=COUNTING.name), "common")
    scan = medians(where(rows, method=_SCAN), "common")
    none, every = min(index), max(index)
    ours = (
        f"{none} to {every} names in common: with the index {duration(index[none])} to {duration(index[every])}; "
        f"scanning all filters {duration(scan[none])} to {duration(scan[every])} (in Python)"
    )
    if index[none] <= _CHEAP * index[every]:
        return Finding(13, ours, "holds")
    return Finding(13, ours, "fails", "messages without names in common are not much cheaper")


def _short(rows: list[Row]) -> Finding:
    groups = grouped(rows, "interfaces", "filters")
    gains = {key: ratio(group, _OFF.name, COUNTING.name) for key, group in groups.items()}
    ours = "factor without it: " + ", ".join(
        f"{gain.format('{:.1f}'.format)} at I = {interfaces}, {filters:,} filters"
        for (interfaces, filters), gain in gains.items()
    )
    ends = {many: _ends(gains, many) for many, _ in gains}
    saving = [many for many, (first, last) in ends.items() if last.middle >= _SAVES and last.middle > first.middle]
    if len(saving) == len(ends):
        return Finding(14, ours, "holds")
    if saving:
        others = ", ".join(format_number(many) for many in ends if many not in saving)
        reason = f"saves less than half with {others} interfaces: the tables are too small to match all of them"
        return Finding(14, ours, "differs", reason)
    return Finding(14, ours, "fails", "saves less than half of the time at these sizes")


def _ends(gains: dict[tuple[int, int], Interval], interfaces: int) -> tuple[Interval, Interval]:
    filters = [key[1] for key in gains if key[0] == interfaces]
    return gains[interfaces, min(filters)], gains[interfaces, max(filters)]


def _without_rivals() -> Finding:
    return Finding(
        15,
        "nothing to compare with",
        "open",
        "the paper has no numbers, and the rivals are not available",
    )


def _labelled(table: pa.Table) -> list[Row]:
    return [{**row, "of": f"I = {row['interfaces']}"} for row in table.to_pylist()]


def _charts(tables: Tables, _: SummaryParameters) -> list[Chart]:
    return [
        Chart(
            "short-circuit", "With and without the short-circuit by interface",
            summary(_labelled(tables["short"]), "of", "method", "filters"), "filters", "us", series="method",
            facet="of", x_log=True, y_log=True, x_title="filters", y_title="µs per message", bands=(("low", "high"),),
            description="Time per message by number of filters, with and without the short-circuit.",
        ),
        Chart(
            "names-in-common", "Messages of 10 attributes, by names in common with the filters",
            summary(tables["common"].to_pylist(), "method", "common"), "common", "us", series="method", y_log=True,
            x_title="names in common", y_title="µs per message", bands=(("low", "high"),),
            description="Time per message by names in common with the filters, with the index and with a scan.",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2001-summary",
    title="Savings of the index and the short-circuit",
    paper="2001",
    section="§4.1, §4.3, §5",
    claims=(4, 13, 14, 15),
    scales={
        "quick": SummaryParameters(turns=3),
        "full": SummaryParameters((1000, 10_000, 100_000, 1_000_000), scanned=10_000),
        "paper": SummaryParameters((1000, 10_000, 100_000, 1_000_000, 8_192_000), scanned=10_000, messages=1000),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "Names that are not in common are names that no filter has.",
        "The scan of all filters is the reference, in Python: compare its shape, not its height.",
        TIMES,
    ),
)
