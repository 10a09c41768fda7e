"""Figures 9 and 12 of [2001]: time per message by number of filters, interfaces and names.

Both figures show the same data; Figure 12 leaves out the case of one interface per filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import (
    Interval,
    Row,
    as_table,
    duration,
    format_number,
    grouped,
    last_decade,
    medians,
    slope,
    summary,
    where,
)  # fmt: skip
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.experiments.timing import COUNTING, PIVOT, TIMES, timed
from cbnet_lab.report.chart import Chart, PublishedValue
from cbnet_lab.workload import Forwarding2001

_PAPER_FILTERS = 8_192_000
_WORST_US, _FIXED_US = 400_000, 25_000  # of the paper: one interface per filter, and 500 interfaces
_PAPER_RATIO = _WORST_US / _FIXED_US  # does not depend on the machine
_MANY, _FEW = 100, 1000  # names: many matches, few matches
_CENTRAL, _LARGEST = "I = F", "I = 500"
_FLAT = 0.2  # slope on log-log axes: doubling the filters adds 15 %
_FAR = _PAPER_RATIO / 2
_PROPORTIONAL = (0.8, 1.2)  # exponent of I
_ORDERS = 100.0  # two orders of magnitude

_AT_SIZE = f"with {_PAPER_FILTERS:,} filters"
_WORST = ClaimRule(5, f"at most {_WORST_US // 1000} ms per message {_AT_SIZE} and as many interfaces")
_WORST_BY_FAR = ClaimRule(
    6,
    f"{_AT_SIZE} I = F takes at least {_FAR:.0f} times as long as the next (400 / 25 ms in the paper: "
    f"{_PAPER_RATIO:.0f}), and over the last decade of filters each fixed I has a slope of at most {_FLAT}",
)
_FASTER = ClaimRule(7, f"more than {_ORDERS:.0f} times as fast at some number of filters and interfaces")
_FIXED = ClaimRule(11, f"at most {_FIXED_US // 1000} ms per message {_AT_SIZE} and 500 interfaces")
_LEVEL = ClaimRule(
    12,
    f"{_AT_SIZE} and over the last decade each fixed I has a slope of at most {_FLAT}, and the time is I to the power "
    f"{_PROPORTIONAL[0]} to {_PROPORTIONAL[1]}",
)


@dataclass(frozen=True)
class Figures9And12Parameters:
    """Filters per table, interfaces (0: one per filter), names, messages, and turns of at least `seconds`.

    most_with_few: tables with many names, which show only that they are faster, have at most this many filters.
    """

    filters: tuple[int, ...]
    interfaces: tuple[int, ...] = (2, 50, 100, 200, 500, 0)
    names: tuple[int, ...] = (_FEW, _MANY)
    messages: int = 1000
    turns: int = 5
    seconds: float = 0.01
    most_with_few: int = 1_024_000


def _doubling(count: int) -> tuple[int, ...]:
    return tuple(1000 * 2**power for power in range(count))


def _run(parameters: Figures9And12Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
    cases = [
        (names, filters, interfaces)
        for names in parameters.names
        for filters in parameters.filters
        for interfaces in parameters.interfaces
        if names != _FEW or filters <= parameters.most_with_few
    ]
    rows: list[Row] = []
    for done, (names, filters, interfaces) in enumerate(cases):
        context.progress(done, len(cases), f"{filters:,} filters")
        mix = Forwarding2001(
            N=parameters.messages, F=filters, I=interfaces or None, A=names, dictionary=dictionary(context),
            seed=context.seed,
        )  # fmt: skip
        label = f"I = {interfaces}" if interfaces else _CENTRAL
        timings = timed(mix, (COUNTING, PIVOT), turns=parameters.turns, seconds=parameters.seconds)
        rows += [{"names": names, "case": label, **row} for row in timings]
    return {"times": as_table(rows)}


def _findings(tables: Tables, _: Figures9And12Parameters) -> list[Finding]:
    rows = tables["times"].to_pylist()
    many = where(rows, names=_MANY)
    return [
        _limit(_WORST, many, _CENTRAL, _WORST_US),
        _flat(where(many, method=COUNTING.name)),
        _orders(where(rows, method=COUNTING.name)),
        _limit(_FIXED, many, _LARGEST, _FIXED_US),
        _plateau(where(many, method=COUNTING.name)),
    ]


def _curves(rows: list[Row], value: str = "us") -> dict[str, dict[Any, float]]:
    return {case: medians(group, "filters", value) for (case,), group in grouped(rows, "case").items()}


def _limit(rule: ClaimRule, rows: list[Row], case: str, limit: float) -> Finding:
    """Compare the time of the largest table with the paper's; a smaller table decides nothing."""
    curves = _curves(where(rows, method=COUNTING.name))
    curve = curves[case]
    last = max(curve)
    pivot = medians(where(rows, method=PIVOT.name, case=case), "filters")[last]
    ours = f"{duration(curve[last])} at {last:,} filters (pivot: {duration(pivot)})"
    if _CENTRAL in curves and last in curves.get(_LARGEST, {}):
        ratio = curves[_CENTRAL][last] / curves[_LARGEST][last]
        ours += f"; I = F takes {ratio:.1f} times as long as I = 500, in the paper {_PAPER_RATIO:.0f} times"
    if last >= _PAPER_FILTERS:
        return rule.decide(ours, curve[last] <= limit, "slower than on the paper's machine")
    growth = max(1.0, slope(last_decade(curve)))
    extrapolated = curve[last] * (_PAPER_FILTERS / last) ** growth
    return rule.unmeasured(
        ours, f"measured up to {last:,} filters; with exponent {growth:.2f} it would be {duration(extrapolated)}"
    )


def _flat(rows: list[Row]) -> Finding:
    curves, counters = _curves(rows), _curves(rows, "counters")
    slopes = {case: slope(last_decade(curve)) for case, curve in curves.items()}
    last = max(curves[_CENTRAL])
    ends = {case: curve[last] for case, curve in curves.items() if last in curve}
    fixed = {case: value for case, value in slopes.items() if case != _CENTRAL}
    times = ends[_CENTRAL] / max((end for case, end in ends.items() if case != _CENTRAL), default=ends[_CENTRAL])
    counted = Interval.of([slope(last_decade(counters[case])) for case in fixed] or [0.0])
    ours = (
        f"slopes: {', '.join(f'{case} {value:.2f}' for case, value in slopes.items())}; at {last:,} filters {_CENTRAL} "
        f"takes {times:.1f} times the next; counters updated, for fixed I: slopes {counted.low:.2f} to "
        f"{counted.high:.2f}"
    )
    if last < _PAPER_FILTERS:
        return _WORST_BY_FAR.unmeasured(ours, f"measured up to {last:,} filters")
    steep = [case for case, value in fixed.items() if value > _FLAT]
    reasons = [f"not flat: {', '.join(steep)}, as more postings are read before the last interface matches"] * bool(
        steep
    )
    reasons += [f"I = F takes {times:.1f} times the next, not {_FAR:.0f}"] * (times < _FAR)
    return _WORST_BY_FAR.decide(ours, not reasons, "; ".join(reasons))


def _orders(rows: list[Row]) -> Finding:
    times, postings = [], []
    for _, group in grouped(rows, "case", "filters").items():
        few, many = where(group, names=_FEW), where(group, names=_MANY)
        if few and many:
            times.append(_middle(many, "us") / _middle(few, "us"))
            postings.append(_middle(many, "postings") / max(_middle(few, "postings"), 1e-9))
    ours = (
        f"{min(times):.1f} to {max(times):.1f} times the time, {min(postings):.1f} to {max(postings):.1f} the postings"
    )
    reason = (
        "with a tenth of the names, a message contains the name of a constraint ten times as often, so at most ten "
        "times as many postings are read; a factor of 100 does not follow from the paper's parameters"
    )
    return _FASTER.decide(ours, max(times) > _ORDERS, reason)


def _middle(rows: list[Row], value: str) -> float:
    return float(sorted(row[value] for row in rows)[len(rows) // 2])


def _plateau(rows: list[Row]) -> Finding:
    groups = {group[0]["interfaces"]: group for (case,), group in grouped(rows, "case").items() if case != _CENTRAL}
    curves = {interfaces: medians(group, "filters") for interfaces, group in groups.items()}
    last = max(max(curve) for curve in curves.values())
    slopes = {interfaces: slope(last_decade(curve)) for interfaces, curve in curves.items()}
    exponents = {
        value: slope({interfaces: medians(group, "filters", value)[last] for interfaces, group in groups.items()})
        for value in ("us", "postings", "counters")
    }
    rising = [interfaces for interfaces, value in slopes.items() if value > _FLAT]
    ours = (
        f"at {last:,} filters time is I^{exponents['us']:.2f}, postings read I^{exponents['postings']:.2f}, counters "
        f"updated I^{exponents['counters']:.2f}; slopes "
        + ", ".join(f"{value:.2f} (I = {format_number(interfaces)})" for interfaces, value in slopes.items())
    )
    if last < _PAPER_FILTERS:
        return _LEVEL.unmeasured(ours, f"measured up to {last:,} filters")
    reasons = [f"still rising for I = {', '.join(map(format_number, rising))}"] * bool(rising)
    if not _PROPORTIONAL[0] <= exponents["us"] <= _PROPORTIONAL[1]:
        reasons.append("the height is not proportional to the interfaces")
    reason = "; ".join(reasons) + ": postings of matched interfaces are skipped, but still read"
    return _LEVEL.decide(ours, not reasons, reason)


def _charts(tables: Tables, _: Figures9And12Parameters) -> list[Chart]:
    rows = tables["times"].to_pylist()
    labelled = [
        {**row, "of": f"A = {row['names']:,}, {row['method']}", "ms": row["us"] / 1000}
        for method in (COUNTING.name, PIVOT.name)
        for row in where(rows, method=method)
    ]
    fixed = [row for row in labelled if row["case"] != _CENTRAL]
    facet = f"A = 100, {COUNTING.name}"
    worst = PublishedValue("400 ms (A = 100, I = F)", _PAPER_FILTERS, _WORST_US / 1000, facet=facet)
    level = PublishedValue("at most 25 ms (A = 100, I = 500)", _PAPER_FILTERS, _FIXED_US / 1000, facet=facet)
    return [
        _chart("figure-9", "Figure 9: time per message by number of filters", labelled, (worst, level), is_log=True),
        _chart("figure-12", "Figure 12: as Figure 9, without I = F", fixed, (level,), is_log=False),
    ]


def _chart(name: str, title: str, rows: list[Row], published: tuple[PublishedValue, ...], *, is_log: bool) -> Chart:
    return Chart(
        name, title, summary(rows, "of", "case", "filters", value="ms"), "filters", "ms", series="case", facet="of",
        x_title="filters", y_title="ms per message", x_log=True, y_log=is_log, bands=(("low", "high"),),
        published=published,
        description="Time per message by number of filters, a line for each number of interfaces:",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="2001-figures-9-12",
    title="Time per message by filters, interfaces and names",
    paper="2001",
    section="§4.2, Figures 9 and 12",
    claims=(5, 6, 7, 11, 12),
    scales={
        "quick": Figures9And12Parameters(_doubling(8), interfaces=(2, 50, 500, 0), messages=200, turns=3),
        "full": Figures9And12Parameters((*_doubling(10)[::3], *_doubling(14)[10:]), messages=500),
        "paper": Figures9And12Parameters(_doubling(14), most_with_few=_PAPER_FILTERS),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "SV and IV, the numbers of words and integers, are not in the paper: 1000 and 100, as in [2002].",
        "The “linear” distribution of values is read as a probability that falls linearly with the rank.",
        "The distribution of names is not in the paper: uniform.",
        TIMES,
    ),
    inputs=("traces",),
)
