"""Savings of the constraint index and of the short-circuit by interface [2001 §4.1, §4.3, §5]."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log
from time import thread_time

import pyarrow as pa

from cbnet_lab.bench.bench_input import BenchInput, bench_input
from cbnet_lab.bench.oracle import Oracle
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import (
    Interval,
    Row,
    as_table,
    duration,
    format_number,
    grouped,
    median,
    medians,
    ratio,
    summary,
    where,
)
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.experiments.timing import COUNTING, PIVOT, TIMES, MatchMethod, TimedComparison
from cbnet_lab.experiments.unknown_attributes import with_unknown_attributes
from cbnet_lab.report.chart import Chart
from cbnet_lab.workload import Forwarding2001

_OFF = MatchMethod("counting, no short-circuit", short_circuit=False)
_SCAN = "scan of all filters"
_SAME = 1.5  # factor within which a time counts as independent of the number of filters
_LINEAR = 1.25  # factor on a time proportional to the attributes
_CHEAP, _SCANNED = 0.25, 0.1
_SAVES, _COSTS = 2.0, 1.1
_MANY = 10  # matching filters per interface
_PAR = 2.0
_PASSES = 5

_FAILED_SEARCHES = ClaimRule(
    4,
    f"no posting and no match; 100 times the filters cost at most {_SAME} times the time, and growing attributes and "
    f"names at most {_LINEAR} times what attributes × log(names) grows by; look-up of the names included",
)
_CHEAP_INDEX = ClaimRule(
    13,
    f"no names in common cost at most {_CHEAP:.0%} of 10 names in common, and at most {_SCANNED:.0%} of a scan of the "
    "names of all filters; look-up of the names included",
)
_SHORT_CIRCUIT = ClaimRule(
    14,
    f"where a message matches {_MANY} filters per interface or more, matching without it takes at least {_SAVES:.0f} "
    "times as long, and the factor is largest in the largest table, for every I",
)
_ON_A_PAR = ClaimRule(15, f"counting takes at most {_PAR:.0f} times as long as the best matchers of 2001, with I = F")


@dataclass(frozen=True)
class SummaryParameters:
    """Filters per table, filters of the table for names in common, interfaces, names, attributes and messages."""

    filters: tuple[int, ...] = (1000, 10_000, 100_000)
    scanned: int = 100_000
    common: tuple[int, ...] = (0, 1, 2, 4, 6, 8, 10)
    interfaces: tuple[int, ...] = (2, 50)
    names: int = 100
    all_names: tuple[int, ...] = (100, 1000, 10_000)
    attributes: tuple[int, ...] = (2, 5, 10, 20)
    messages: int = 300
    turns: int = 5
    seconds: float = 0.02


def _run(parameters: SummaryParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    short: list[Row] = []
    steps = len(parameters.filters) + 2
    for done, filters in enumerate(parameters.filters):
        context.progress(done, steps, f"{filters:,} filters")
        each = bench_input(_mix(parameters, filters, None, context), lambda _: None)
        matching = len(TimedComparison(each, (PIVOT,)).match(PIVOT).answer.targets) / len(each.members)
        for interfaces in parameters.interfaces:
            data = bench_input(_mix(parameters, filters, interfaces, context), lambda _: None)
            rows = TimedComparison(data, (COUNTING, _OFF, PIVOT)).rows(parameters.turns, parameters.seconds)
            short += [{**row, "matching": matching} for row in rows]
    context.progress(steps - 2, steps, "disjoint names")
    disjoint = [*_disjoint_rows(parameters, context)]
    context.progress(steps - 1, steps, "names in common")
    common = [*_common(parameters, context)]
    rivals = [*_rivals(parameters, context)]
    return {
        "disjoint": as_table(disjoint), "short": as_table(short), "common": as_table(common),
        "rivals": as_table(rivals),
    }  # fmt: skip


def _mix(
    parameters: SummaryParameters, filters: int, interfaces: int | None, context: ExperimentContext
) -> Forwarding2001:
    return Forwarding2001(
        N=parameters.messages, F=filters, I=interfaces, A=parameters.names, dictionary=dictionary(context),
        seed=context.seed,
    )  # fmt: skip


def _disjoint_rows(parameters: SummaryParameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield times without a common name while the filters, the attributes of a message, or the names grow."""
    middle = parameters.filters[len(parameters.filters) // 2]
    base = replace(_mix(parameters, middle, parameters.interfaces[-1], context), AN=(10, 10))
    cases = [("filters", filters, replace(base, F=filters)) for filters in parameters.filters]
    cases += [("attributes", count, replace(base, AN=(count, count))) for count in parameters.attributes]
    cases += [("names", names, replace(base, A=names)) for names in parameters.all_names]
    for grown, value, mix in cases:
        data = with_unknown_attributes(bench_input(mix, lambda _: None), 0)
        for row in _single(data, parameters):
            yield {"grown": grown, "value": value, **row}


def _single(data: BenchInput, parameters: SummaryParameters) -> Iterator[Row]:
    """Yield the times of messages matched one by one, which include looking up their names, and their work."""
    comparison = TimedComparison(data, (COUNTING, PIVOT))
    for method, matched in zip(comparison.methods, comparison.checked(), strict=True):
        compiled = comparison.compiled[method.engine]
        for turn in range(parameters.turns):
            spent = _best(lambda: [compiled.match(members) for members in data.members])  # noqa: B023
            yield {
                "method": method.name, "turn": turn, "postings": matched.work["postings"],
                "matched": len(matched.answer.targets), "us": spent / len(data.members) * 1e6,
            }  # fmt: skip


def _best(work: Callable[[], object]) -> float:
    """Return the CPU seconds of the best of some passes."""
    spent = []
    for _ in range(_PASSES):
        start = thread_time()
        work()
        spent.append(thread_time() - start)
    return min(spent)


def _common(parameters: SummaryParameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the times with the index and with a scan for messages of 10 attributes, by names in common."""
    mix = replace(_mix(parameters, parameters.scanned, parameters.interfaces[-1], context), AN=(10, 10))
    data = bench_input(mix, lambda _: None)
    oracle = Oracle(data.filters)
    for common in parameters.common:
        renamed = with_unknown_attributes(data, common)
        yield from ({"common": common, **row} for row in _single(renamed, parameters))
        for turn, members in enumerate(renamed.members[: parameters.turns]):
            spent = _best(lambda: oracle.candidates(members))  # noqa: B023
            yield {"common": common, "method": _SCAN, "turn": turn, "us": spent * 1e6}


def _rivals(parameters: SummaryParameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the times of both engines and of a scan in one table with an interface per filter."""
    data = bench_input(_mix(parameters, parameters.scanned, None, context), lambda _: None)
    oracle = Oracle(data.filters)
    for row in TimedComparison(data, (COUNTING, PIVOT)).rows(parameters.turns, parameters.seconds):
        yield {key: row[key] for key in ("filters", "method", "turn", "us")}
    for turn, members in enumerate(data.members[: parameters.turns]):
        spent = _best(lambda: oracle.candidates(members))  # noqa: B023
        yield {"filters": len(data.columns), "method": _SCAN, "turn": turn, "us": spent * 1e6}


def _findings(tables: Tables, _: SummaryParameters) -> list[Finding]:
    rows = {name: table.to_pylist() for name, table in tables.items()}
    return [_disjoint(rows["disjoint"]), _cheap(rows["common"]), _short(rows["short"]), _par(rows["rivals"])]


def _disjoint(rows: list[Row]) -> Finding:
    curves = {
        grown: medians(group, "value")
        for (grown,), group in grouped(where(rows, method=COUNTING.name), "grown").items()
    }
    growth = {grown: curve[max(curve)] / curve[min(curve)] for grown, curve in curves.items()}
    touched, matched = (max(row[name] for row in rows) for name in ("postings", "matched"))
    ours = f"{format_number(touched)} postings, {format_number(matched)} matches; " + "; ".join(
        f"{duration(curve[min(curve)])} with {min(curve):,} {grown}, {duration(curve[max(curve)])} with {max(curve):,}"
        for grown, curve in curves.items()
    )
    if touched or matched:
        return _FAILED_SEARCHES.fails(ours, "postings are touched or interfaces matched")
    names, attributes = curves["names"], curves["attributes"]
    limits = {
        "filters": _SAME, "attributes": _LINEAR * max(attributes) / min(attributes),
        "names": _LINEAR * log(max(names)) / log(min(names)),
    }  # fmt: skip
    above = [grown for grown, limit in limits.items() if growth[grown] > limit]
    return _FAILED_SEARCHES.decide(ours, not above, f"the time grows faster with the {' and the '.join(above)}")


def _cheap(rows: list[Row]) -> Finding:
    index = medians(where(rows, method=COUNTING.name), "common")
    scan = medians(where(rows, method=_SCAN), "common")
    none, every = min(index), max(index)
    ours = (
        f"{none} to {every} names in common: with the index {duration(index[none])} to {duration(index[every])}; "
        f"scanning the names of all filters {duration(scan[none])} to {duration(scan[every])}"
    )
    holds = index[none] <= _CHEAP * index[every] and index[none] <= _SCANNED * scan[none]
    return _CHEAP_INDEX.decide(ours, holds, "messages without names in common are not much cheaper")


def _short(rows: list[Row]) -> Finding:
    groups = grouped(rows, "interfaces", "filters")
    gains = {key: ratio(group, _OFF.name, COUNTING.name) for key, group in groups.items()}
    ours = "factor without it: " + ", ".join(
        f"{gain.format('{:.1f}'.format)} at I = {interfaces}, {filters:,} filters "
        f"({groups[interfaces, filters][0]['matching'] / interfaces:.1f} matching filters per interface)"
        for (interfaces, filters), gain in gains.items()
    )
    many = [key for key, group in groups.items() if group[0]["matching"] >= _MANY * key[0]]
    if {interfaces for interfaces, _ in many} != {interfaces for interfaces, _ in groups}:
        reason = f"for some I no table is large enough that messages match {_MANY} filters per interface"
        return _SHORT_CIRCUIT.unmeasured(ours, reason)
    small = [key for key in many if gains[key].middle < _SAVES]
    ends = [_ends(gains, interfaces) for interfaces, _ in groups]
    if small or any(last.middle <= first.middle for first, last in ends):
        cases = ", ".join(f"I = {interfaces} with {filters:,} filters" for interfaces, filters in small)
        return _SHORT_CIRCUIT.fails(
            ours, f"saves less than half: {cases}" if small else "not most in the largest table"
        )
    costly = {key: gain.middle for key, gain in gains.items() if gain.middle < 1 / _COSTS}
    if costly:
        reason = (
            f"with fewer matching filters per interface it costs time, up to {1 / min(costly.values()) - 1:.0%}: a "
            "posting is counted as fast as its interface is checked"
        )
        return _SHORT_CIRCUIT.differs(ours, reason)
    return _SHORT_CIRCUIT.holds(ours)


def _ends(gains: dict[tuple[int, int], Interval], interfaces: int) -> tuple[Interval, Interval]:
    filters = [key[1] for key in gains if key[0] == interfaces]
    return gains[interfaces, min(filters)], gains[interfaces, max(filters)]


def _par(rows: list[Row]) -> Finding:
    times = {method: median(where(rows, method=method)) for method in (COUNTING.name, PIVOT.name, _SCAN)}
    counting = times[COUNTING.name]
    ours = (
        f"the nearest thing, {rows[0]['filters']:,} filters: counting {duration(counting)}, "
        f"{counting / times[PIVOT.name]:.1f} times as long as pivot, which like Le Subscribe files a filter under one "
        f"constraint, and {counting / times[_SCAN]:.1%} of a scan of all names"
    )
    reason = "the paper has neither numbers nor programs to compare with; pivot is ours, not a matcher of 2001"
    return _ON_A_PAR.open(ours, reason)


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
        "full": SummaryParameters((1000, 10_000, 100_000, 1_000_000, 8_192_000), 1_000_000, interfaces=(2, 50, 500)),
        "paper": SummaryParameters(
            (1000, 10_000, 100_000, 1_000_000, 8_192_000), 1_000_000, interfaces=(2, 50, 500), messages=1000
        ),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "Names that are not in common are names that no filter has.",
        "The scan tests, in vectorised code, whether the message has all names of each filter; a matcher does more.",
        "Messages without, or with few, names in common are matched one by one, so that looking up their names counts.",
        TIMES,
    ),
    inputs=("traces",),
)
