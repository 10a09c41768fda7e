"""Figures 9 and 12 of [2001]: time per message by number of filters, interfaces and names.

Both figures show the same data; Figure 12 leaves out the case of one interface per filter.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import (
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
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.inputs import dictionary
from cbnet.lab.experiments.timing import COUNTING, PIVOT, TIMES, timed
from cbnet.lab.report.chart import Chart
from cbnet.lab.workload import Forwarding2001

_PAPER_FILTERS = 8_192_000
_WORST_US, _FIXED_US = 400_000, 25_000  # of the paper: one interface per filter, and 500 interfaces
_MANY, _FEW = 100, 1000  # names: many matches, few matches
_CENTRAL = "I = F"
_FLAT, _STEEP = 0.5, 0.7  # slopes on log-log axes: nearly flat, nearly proportional
_LEVEL = 0.2
_ENOUGH = 1_000_000  # filters; then 500 interfaces have thousands each
_WORSE, _FAR = 1.1, 2.0  # times as long as the next: the worst, by far the worst
_ORDERS = 100.0  # two orders of magnitude


@dataclass(frozen=True)
class Figures9And12Parameters:
    """Filters per table, interfaces (0: one per filter), names, messages, and turns of at least `seconds`."""

    filters: tuple[int, ...]
    interfaces: tuple[int, ...] = (2, 50, 100, 200, 500, 0)
    names: tuple[int, ...] = (_FEW, _MANY)
    messages: int = 1000
    turns: int = 5
    seconds: float = 0.01


def _doubling(count: int) -> tuple[int, ...]:
    return tuple(1000 * 2**power for power in range(count))


def _run(parameters: Figures9And12Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
    cases = [
        (names, filters, interfaces)
        for names in parameters.names
        for filters in parameters.filters
        for interfaces in parameters.interfaces
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
    counting = where(rows, method=COUNTING.name)
    return [
        _limit(5, where(rows, names=_MANY, case=_CENTRAL), _WORST_US),
        _flat(where(counting, names=_MANY)),
        _orders(counting),
        _limit(11, where(rows, names=_MANY, case="I = 500"), _FIXED_US),
        _plateau(where(counting, names=_MANY)),
    ]


def _limit(claim: int, rows: list[Row], limit: float) -> Finding:
    """Compare the time of the largest table, extrapolated to the paper's size, with the paper's time."""
    curve = medians(where(rows, method=COUNTING.name), "filters")
    last = max(curve)
    pivot = medians(where(rows, method=PIVOT.name), "filters")[last]
    ours = f"{duration(curve[last])} at {last:,} filters (pivot: {duration(pivot)})"
    if last >= _PAPER_FILTERS:
        reason = "" if curve[last] <= limit else "slower than on the paper's machine"
        return Finding(claim, ours, "fails" if reason else "holds", reason)
    growth = max(1.0, slope(last_decade(curve)))
    extrapolated = curve[last] * (_PAPER_FILTERS / last) ** growth
    reason = (
        f"measured up to {last:,} filters; extrapolated to the paper's {_PAPER_FILTERS:,}, with exponent {growth:.2f}: "
        f"{duration(extrapolated)}"
    )
    if 2 * extrapolated <= limit:
        return Finding(claim, ours, "differs", reason)
    return Finding(claim, ours, "unmeasured", reason)


def _flat(rows: list[Row]) -> Finding:
    curves = {case: medians(group, "filters") for (case,), group in grouped(rows, "case").items()}
    slopes = {case: slope(last_decade(curve)) for case, curve in curves.items()}
    last = max(curves[_CENTRAL])
    ends = {case: curve[last] for case, curve in curves.items() if last in curve}
    ours = "slopes: " + ", ".join(f"{case} {value:.2f}" for case, value in slopes.items())
    ours += f"; at {last:,} filters {_CENTRAL} takes {ends[_CENTRAL] / _second(ends):.1f} times the next"
    fixed = {case: value for case, value in slopes.items() if case != _CENTRAL}
    is_worst = slopes[_CENTRAL] >= _STEEP and ends[_CENTRAL] >= _WORSE * _second(ends)
    steep = [case for case, value in fixed.items() if value > _FLAT]
    if not is_worst and last < _ENOUGH:
        return Finding(6, ours, "unmeasured", "too few filters per interface in all tables")
    if not is_worst:
        return Finding(6, ours, "fails", "one interface per filter is not the worst case")
    if steep or ends[_CENTRAL] < _FAR * _second(ends):
        reason = "not flat yet, or not far below yet, with these numbers of filters: "
        return Finding(6, ours, "differs", reason + (", ".join(steep) or _CENTRAL))
    return Finding(6, ours, "holds")


def _second(ends: dict[str, float]) -> float:
    return sorted(ends.values())[-2] if len(ends) > 1 else min(ends.values())


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
    if max(times) > _ORDERS:
        return Finding(7, ours, "holds")
    reason = (
        "with a tenth of the names, a message contains the name of a constraint ten times as often, so at most ten "
        "times as many postings are read; a factor of 100 does not follow from the paper's parameters"
    )
    return Finding(7, ours, "fails", reason)


def _middle(rows: list[Row], value: str) -> float:
    return float(sorted(row[value] for row in rows)[len(rows) // 2])


def _plateau(rows: list[Row]) -> Finding:
    curves = {
        group[0]["interfaces"]: (medians(group, "filters"), medians(group, "filters", "postings"))
        for (case,), group in grouped(rows, "case").items()
        if case != _CENTRAL
    }
    ends = {interfaces: time[max(time)] for interfaces, (time, _) in curves.items()}
    work = {interfaces: postings[max(postings)] for interfaces, (_, postings) in curves.items()}
    late = {interfaces: slope(dict(list(time.items())[-3:])) for interfaces, (time, _) in curves.items()}
    level = [interfaces for interfaces, value in late.items() if value <= _LEVEL]
    exponents = slope(ends), slope(work)
    ours = (
        f"at {max(max(time) for time, _ in curves.values()):,} filters time is I^{exponents[0]:.2f}, postings "
        f"I^{exponents[1]:.2f}; level (slope up to {_LEVEL}) for I = {', '.join(map(format_number, level)) or 'none'}"
    )
    if len(level) < len(curves):
        reason = "curves of more interfaces still rise: their tables are too small to match all interfaces"
        if level:
            return Finding(12, ours, "differs", reason)
        return Finding(12, ours, "unmeasured", reason)
    if 0.7 <= exponents[0] <= 1.3:
        return Finding(12, ours, "holds")
    reason = "level, but the height is not proportional to the interfaces: part of the work is constant"
    return Finding(12, ours, "differs", reason)


def _charts(tables: Tables, _: Figures9And12Parameters) -> list[Chart]:
    rows = tables["times"].to_pylist()
    labelled = [
        {**row, "of": f"A = {row['names']:,}, {row['method']}", "ms": row["us"] / 1000}
        for method in (COUNTING.name, PIVOT.name)
        for row in where(rows, method=method)
    ]
    fixed = [row for row in labelled if row["case"] != _CENTRAL]
    return [
        _chart("figure-9", "Figure 9: time per message by number of filters", labelled, is_log=True),
        _chart("figure-12", "Figure 12: as Figure 9, without I = F", fixed, is_log=False),
    ]


def _chart(name: str, title: str, rows: list[Row], *, is_log: bool) -> Chart:
    return Chart(
        name, title, summary(rows, "of", "case", "filters", value="ms"), "filters", "ms", series="case", facet="of",
        x_title="filters", y_title="ms per message", x_log=True, y_log=is_log, bands=(("low", "high"),),
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
        "full": Figures9And12Parameters(_doubling(11), messages=500),
        "paper": Figures9And12Parameters(_doubling(14)),
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
)
