"""A router with 20 interfaces [2002 §1]: its speed, and the interfaces that its messages match."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cbnet.lab.bench.bench_input import bench_input
from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table, duration, grouped, median, summary, where
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.inputs import dictionary
from cbnet.lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, TIMES, TimedComparison
from cbnet.lab.experiments.unknown_attributes import with_unknown_attributes
from cbnet.lab.report.chart import Chart
from cbnet.lab.workload import Forwarding2002

_INTERFACES = 20
_ATTRIBUTES = 10
_READINGS = (250_000, 1_000_000)  # filters: the paper's number, and the number that gives 5 million constraints
_PAPER_US, _PAPER_MATCHED = 3000, 18
_CLOSE = 1.0  # interfaces
_NOISE = 1.1


@dataclass(frozen=True)
class IntroductionParameters:
    """Filters per table, and the maximum number of names that messages share with the filters."""

    filters: tuple[int, ...]
    common: tuple[int, ...] = (18, 8, 4, 2, 1)
    messages: int = 200
    turns: int = 5
    seconds: float = 0.02


def _run(parameters: IntroductionParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    times: list[Row] = []
    matched: list[Row] = []
    shared: list[Row] = []
    for done, filters in enumerate(parameters.filters):
        context.progress(done, len(parameters.filters) + 1, f"{filters:,} filters")
        mix = Forwarding2002(
            M=parameters.messages, F=filters, I=_INTERFACES, dictionary=dictionary(context), seed=context.seed
        )
        comparison = TimedComparison(bench_input(mix, lambda _: None), (COUNTING, SELECTIVE, PIVOT))
        times += comparison.rows(parameters.turns, parameters.seconds)
        counts = np.diff(comparison.match(PIVOT).answer.offsets).tolist()
        sizes = map(len, comparison.input.members)
        matched += [
            {"filters": filters, "attributes": size, "matched": count}
            for size, count in zip(sizes, counts, strict=True)
        ]
    context.progress(len(parameters.filters), len(parameters.filters) + 1, "names in common")
    for common in parameters.common:  # in the last, largest table
        renamed = comparison.with_messages(with_unknown_attributes(comparison.input, common))
        shared += [{"common": common, **row} for row in renamed.rows(parameters.turns, parameters.seconds)]
    return {"times": as_table(times), "matched": as_table(matched), "shared": as_table(shared)}


def _findings(tables: Tables, _: IntroductionParameters) -> list[Finding]:
    rows = {name: table.to_pylist() for name, table in tables.items()}
    return [_time(rows["times"]), _matched(rows["matched"]), _faster(rows["shared"])]


def _time(rows: list[Row]) -> Finding:
    medians = {
        filters: {method: median(where(group, method=method)) for method in (SELECTIVE.name, PIVOT.name)}
        for (filters,), group in grouped(rows, "filters").items()
    }
    constraints = {row["filters"]: row["constraints"] for row in rows}
    ours = "; ".join(
        f"{duration(times[SELECTIVE.name])} with {filters:,} filters of {constraints[filters]:,} constraints "
        f"(pivot: {duration(times[PIVOT.name])})"
        for filters, times in medians.items()
    )
    if any(times[SELECTIVE.name] > _PAPER_US for times in medians.values()):
        return Finding(16, ours, "fails", "slower than on the paper's machine")
    missing = [reading for reading in _READINGS if reading not in medians]
    reason = (
        "250,000 filters of 5 constraints are 1.25 million constraints, not 5 million: the paper contradicts itself"
    )
    if missing:
        reason += f"; not run at this scale: {', '.join(f'{reading:,}' for reading in missing)} filters"
    return Finding(16, ours, "differs", reason)


def _matched(rows: list[Row]) -> Finding:
    texts, close = [], []
    for (filters,), group in grouped(rows, "filters").items():
        mean = float(np.mean([row["matched"] for row in group]))
        ten = [row["matched"] for row in where(group, attributes=_ATTRIBUTES)]
        texts.append(
            f"{filters:,} filters: {mean:.1f} of {_INTERFACES} on average"
            + (f", {np.mean(ten):.1f} with {_ATTRIBUTES} attributes" if ten else "")
        )
        close.append(abs(mean - _PAPER_MATCHED) <= _CLOSE)
    ours = "; ".join(texts)
    if all(close):
        return Finding(17, ours, "holds")
    return Finding(17, ours, "differs", "nearly all, as in the paper, which describes a single message")


def _faster(rows: list[Row]) -> Finding:
    points = {
        common: (median(group), median(group, "matched") / _INTERFACES)
        for (common,), group in grouped(where(rows, method=COUNTING.name), "common").items()
    }
    pivot = {common: median(group) for (common,), group in grouped(where(rows, method=PIVOT.name), "common").items()}
    ours = ", ".join(
        f"{duration(us)} (pivot {duration(pivot[common])}) where {share:.0%} match"
        for common, (us, share) in points.items()
    )
    by_share = [us for us, _ in sorted(points.values(), key=lambda point: -point[1])]
    if len({round(share, 2) for _, share in points.values()}) < 2:
        return Finding(18, ours, "unmeasured", "the same number of interfaces matches, however few names are in common")
    if all(later <= _NOISE * earlier for earlier, later in pairwise(by_share)):
        return Finding(18, ours, "holds")
    if by_share[-1] < by_share[0]:
        return Finding(18, ours, "differs", "faster where the fewest match, but not at every step")
    reason = (
        "where fewer interfaces match, the short-circuit applies later, and more is counted; what was varied is not in "
        "the paper"
    )
    return Finding(18, ours, "fails", reason)


def _charts(tables: Tables, _: IntroductionParameters) -> list[Chart]:
    matched = [
        {
            "table": f"{filters:,} filters",
            "attributes": attributes,
            "matched": float(np.mean([r["matched"] for r in group])),
        }
        for (filters, attributes), group in sorted(
            grouped(tables["matched"].to_pylist(), "filters", "attributes").items()
        )
    ]
    shared = [{**row, "share": 100 * row["matched"] / _INTERFACES} for row in tables["shared"].to_pylist()]
    return [
        Chart(
            "matched", "Interfaces matched per message, of 20", as_table(matched), "attributes", "matched",
            series="table", x_title="attributes of the message", y_title="interfaces",
            description="Mean number of interfaces matched by number of attributes.",
        ),
        Chart(
            "time-by-share", "Time per message by share of matching interfaces",
            summary(shared, "method", "share"), "share", "us", series="method", x_title="% of the interfaces",
            y_title="µs per message", bands=(("low", "high"),),
            description="Time per message by share of matching interfaces, as fewer names are in common.",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2002-introduction",
    title="A router with 20 interfaces",
    paper="2002",
    section="§1",
    claims=(16, 17, 18),
    scales={
        "quick": IntroductionParameters((100_000,)),
        "full": IntroductionParameters(_READINGS),
        "paper": IntroductionParameters(_READINGS, messages=1000),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "How fewer neighbours were made to match is not in the paper: here, messages get names that no filter has.",
        TIMES,
    ),
)
