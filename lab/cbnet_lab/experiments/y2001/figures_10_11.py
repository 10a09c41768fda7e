"""Figures 10 and 11 of [2001]: interfaces matched per message, and messages that match nothing.

Both figures show the same data: Figure 11 is the first column of Figure 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cbnet_lab.bench.bench_input import bench_input
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, grouped, where
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.experiments.timing import COUNTING, PIVOT, TimedComparison
from cbnet_lab.report.chart import Chart, PublishedValue
from cbnet_lab.workload import Forwarding2001

_FEW_NAMES, _MANY_NAMES = (50, 100), 1000
_SMALL, _MIDDLE, _LARGE = 1000, 10_000, 100_000  # filters
_IGNORED, _AROUND = 0.9, 0.05  # share of the messages, with many names, and its tolerance
_FIRST_IGNORED = (0.15, 0.45)  # with few names and the fewest filters; the paper has about 30 %
_NOTHING = 0.01
_FEW = 0.1  # of the interfaces
_INTERFACES = 50  # our choice; the paper does not state I
_MOST, _HIGH = 0.5, 1 / 3  # of the messages
_DISTRIBUTION = ClaimRule(
    8,
    f"with {_MANY_NAMES:,} names more than {_MOST:.0%} of the messages match at most {_FEW:.0%} of the interfaces, for "
    f"all numbers of filters; with 50 and 100 names and {_LARGE:,} filters at least {_HIGH:.0%} match all, for I = 50",
)
_IGNORED_OF_MANY = ClaimRule(9, f"{_IGNORED - _AROUND:.0%} to {_IGNORED + _AROUND:.0%} at every number of filters")
_IGNORED_OF_FEW = ClaimRule(
    10,
    "{2:.0%} to {3:.0%} of the messages match nothing at {0:,} filters, with 50 or 100 names, and with either at most "
    "{4:.0%} at {1:,}".format(_SMALL, _MIDDLE, *_FIRST_IGNORED, _NOTHING),
)
_BINS = ("none", "up to 10 %", "up to 50 %", "up to 99 %", "all")
_EDGES = (0.0, _FEW, 0.5, 1.0)


@dataclass(frozen=True)
class Figures10And11Parameters:
    """Filters per table, names, interfaces and messages."""

    filters: tuple[int, ...] = (1000, 2000, 3000, 5000, 10_000, 20_000, 50_000, 100_000)
    names: tuple[int, ...] = (*_FEW_NAMES, _MANY_NAMES)
    interfaces: tuple[int, ...] = (_INTERFACES,)
    messages: int = 1000


def _run(parameters: Figures10And11Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
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
            N=parameters.messages, F=filters, I=interfaces, A=names, dictionary=dictionary(context), seed=context.seed
        )
        comparison = TimedComparison(bench_input(mix, lambda _: None), (PIVOT, COUNTING))
        counts = np.diff(comparison.checked()[0].answer.offsets)
        rows += [
            {"names": names, "filters": filters, "interfaces": interfaces, "matched": matched, "messages": messages}
            for matched, messages in zip(
                *(part.tolist() for part in np.unique(counts, return_counts=True)), strict=True
            )
        ]
    return {"matched": as_table(rows)}


def _findings(tables: Tables, _: Figures10And11Parameters) -> list[Finding]:
    rows = tables["matched"].to_pylist()
    return [_distribution(rows), _ignored_of_many(rows), _ignored_of_few(rows)]


def _share(rows: Sequence[Row], low: float, high: float) -> float:
    """Return the share of messages that match a share of the interfaces from `low` to `high`."""
    messages = [row["messages"] for row in rows if low <= row["matched"] / row["interfaces"] <= high]
    return float(sum(messages) / sum(row["messages"] for row in rows))


def _ignored(rows: Sequence[Row], names: int) -> dict[int, float]:
    return {filters: _share(group, 0, 0) for (filters,), group in grouped(where(rows, names=names), "filters").items()}


def _distribution(rows: list[Row]) -> Finding:
    few = {
        filters: _share(group, 0, _FEW)
        for (filters,), group in grouped(where(rows, names=_MANY_NAMES), "filters").items()
    }
    largest = max(few)
    everywhere = {
        (names, interfaces): _share(group, 1, 1)
        for (names, interfaces), group in grouped(where(rows, filters=largest), "names", "interfaces").items()
        if names != _MANY_NAMES
    }
    ours = (
        f"{_MANY_NAMES:,} names, up to 10 % of the interfaces: {_shares_text(few)}; at {largest:,} filters to all: "
        + ", ".join(f"{share:.0%} ({names} names, I = {many})" for (names, many), share in everywhere.items())
    )
    if largest < _LARGE:
        return _DISTRIBUTION.unmeasured(ours, f"the largest table has {largest:,} filters, not {_LARGE:,}")
    wide = [filters for filters, share in few.items() if share <= _MOST]
    narrow = {(names, many) for (names, many), share in everywhere.items() if share < _HIGH}
    if wide or any(many == _INTERFACES for _, many in narrow):
        reason = (
            f"with {_MANY_NAMES:,} names not at {', '.join(f'{filters:,}' for filters in wide)} filters (see claim 9)"
        )
        return _DISTRIBUTION.fails(ours, reason if wide else "few messages go to all interfaces")
    if narrow:
        cases = ", ".join(f"{names} names, I = {many}" for names, many in sorted(narrow))
        reason = f"few messages go to all interfaces with {cases}; the paper does not state I"
        return _DISTRIBUTION.differs(ours, reason)
    return _DISTRIBUTION.holds(ours)


def _shares_text(curve: dict[int, float]) -> str:
    selected = {min(curve), max(curve)} | ({_MIDDLE} & set(curve))
    return ", ".join(f"{share:.0%} at {filters:,}" for filters, share in curve.items() if filters in selected)


def _ignored_of_many(rows: list[Row]) -> Finding:
    curve = _ignored(rows, _MANY_NAMES)
    ours = f"{_shares_text(curve)} filters"
    near = [filters for filters, share in curve.items() if abs(share - _IGNORED) <= _AROUND]
    reason = (
        "a share independent of the number of filters is impossible with the paper's parameters: one filter in five "
        "has a single constraint, so with 100,000 filters a name has 20 of them on average; more words or integers do "
        "not change that, as about half of the values satisfy < and >"
    )
    reason += f"; it holds at {near[0]:,} filters" if near else ""
    return _IGNORED_OF_MANY.decide(ours, len(near) == len(curve), reason)


def _ignored_of_few(rows: list[Row]) -> Finding:
    curves = {names: _ignored(rows, names) for names in _FEW_NAMES}
    ours = "; ".join(
        f"{names} names: {curve[min(curve)]:.0%} at {min(curve):,}, {_at(curve, _MIDDLE):.1%} at {_MIDDLE:,} filters"
        for names, curve in curves.items()
    )
    starts = [curve[min(curve)] for curve in curves.values()]
    ends = [_at(curve, _MIDDLE) for curve in curves.values()]
    holds = max(ends) <= _NOTHING and _FIRST_IGNORED[0] <= max(starts) <= _FIRST_IGNORED[1]
    return _IGNORED_OF_FEW.decide(ours, holds, "a different share of messages matches nothing")


def _at(curve: dict[int, float], filters: int) -> float:
    return curve[min(curve, key=lambda known: abs(known - filters))]


def _charts(tables: Tables, parameters: Figures10And11Parameters) -> list[Chart]:
    rows = tables["matched"].to_pylist()
    ignored = [
        {"of": f"A = {names}", "filters": filters, "ignored": 100 * share}
        for names in parameters.names
        for filters, share in _ignored(rows, names).items()
    ]
    shown = {filters for filters in (_SMALL, _MIDDLE, _LARGE) if filters in parameters.filters} or {*parameters.filters}
    spread = [
        {"of": f"A = {names}, I = {many}", "to": bin, "filters": f"F = {filters:,}", "share": 100 * share}
        for (names, many, filters), group in grouped(rows, "names", "interfaces", "filters").items()
        if filters in shown
        for bin, share in zip(_BINS, _binned(group), strict=True)
    ]
    return [
        Chart(
            "figure-10", "Figure 10: interfaces matched per message", as_table(spread), "to", "share",
            kind="bars", series="filters", facet="of", x_title="share of the interfaces", y_title="% of the messages",
            description="Shares of messages that match no, some and all interfaces, by names and filters.",
        ),
        Chart(
            "figure-11", "Figure 11: messages that match nothing", as_table(ignored), "filters", "ignored",
            series="of", x_log=True, x_title="filters", y_title="% of the messages",
            published=(
                PublishedValue("90 % for A = 1000, from 1000 filters", _SMALL, 90.0),
                PublishedValue("to 100,000", _LARGE, 90.0),
                PublishedValue("30 % for A = 100 and 50 at 1000 filters", _SMALL, 30.0),
                PublishedValue("0 % at 10,000", _MIDDLE, 0.0),
            ),
            description="Share of messages without a match by number of filters, a line for each A.",
        ),
    ]  # fmt: skip


def _binned(rows: Sequence[Row]) -> list[float]:
    inner = [_share(rows, low + 1e-9, high - (1e-9 if high == 1 else 0)) for low, high in pairwise(_EDGES)]
    return [_share(rows, 0, 0), *inner, _share(rows, 1, 1)]


EXPERIMENT = Experiment(
    name="2001-figures-10-11",
    title="Interfaces matched per message, and messages that match nothing",
    paper="2001",
    section="§4.2, Figures 10 and 11",
    claims=(8, 9, 10),
    scales={
        "quick": Figures10And11Parameters((1000, 3000, 10_000, 100_000)),
        "full": Figures10And11Parameters(interfaces=(50, 500)),
        "paper": Figures10And11Parameters(interfaces=(2, 50, 100, 200, 500)),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The number of interfaces of Figure 10 is not in the paper: 50, and others at larger scales.",
        "SV and IV are not in the paper: 1000 words and 100 integers, as in [2002]; more would give fewer matches.",
    ),
    inputs=("traces",),
)
