"""Figure 7a of [2002]: time per message at one central server, with one interface per filter."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import (
    Row,
    as_table,
    duration,
    grouped,
    last_decade,
    median,
    medians,
    ratio,
    slope,
    summary,
    where,
)
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.inputs import dictionary
from cbnet.lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, TIMES, timed
from cbnet.lab.report.chart import Chart
from cbnet.lab.workload import Forwarding2002

_PAPER_FILTERS, _PAPER_US = 1_000_000, 330_000
_GAIN, _SOME_GAIN = 0.3, 0.1  # thresholds for “up to 40 %”, and for some gain
_SMALL = 2000  # filters; in smaller tables a gain is a few nanoseconds


@dataclass(frozen=True)
class Figure7aParameters:
    """Filters per table, messages, and turns of at least `seconds`."""

    filters: tuple[int, ...]
    messages: int = 100
    turns: int = 7
    seconds: float = 0.02


def _run(parameters: Figure7aParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    rows: list[Row] = []
    for done, filters in enumerate(parameters.filters):
        context.progress(done, len(parameters.filters), f"{filters:,} filters")
        mix = Forwarding2002(
            M=parameters.messages, F=filters, I=None, dictionary=dictionary(context), seed=context.seed
        )
        rows += timed(mix, (COUNTING, SELECTIVE, PIVOT), turns=parameters.turns, seconds=parameters.seconds)
    return {"times": as_table(rows)}


def _findings(tables: Tables, _: Figure7aParameters) -> list[Finding]:
    rows = tables["times"].to_pylist()
    return [_time(rows), _gain(rows)]


def _time(rows: list[Row]) -> Finding:
    curve = medians(where(rows, method=SELECTIVE.name), "filters")
    last = max(curve)
    others = {method: median(where(rows, method=method, filters=last)) for method in (COUNTING.name, PIVOT.name)}
    rivals = ", ".join(f"{method} {duration(us)}" for method, us in others.items())
    ours = f"{duration(curve[last])} at {last:,} filters ({rivals})"
    if last >= _PAPER_FILTERS:
        is_slow = curve[last] > _PAPER_US
        return Finding(29, ours, "fails" if is_slow else "holds", "slower than in 2002" if is_slow else "")
    growth = max(1.0, slope(last_decade(curve)))
    extrapolated = curve[last] * (_PAPER_FILTERS / last) ** growth
    estimate = f"{duration(extrapolated)} with exponent {growth:.2f}"
    reason = f"measured up to {last:,} filters; extrapolated to a million: {estimate}"
    if 2 * extrapolated <= _PAPER_US:
        return Finding(29, ours, "differs", reason)
    return Finding(29, ours, "unmeasured", reason)


def _gain(rows: list[Row]) -> Finding:
    gains = {
        filters: ratio(group, SELECTIVE.name, COUNTING.name)
        for (filters,), group in grouped(rows, "filters").items()
        if filters >= _SMALL
    }
    if not gains:
        return Finding(30, "none", "unmeasured", f"no table has {_SMALL:,} filters or more")
    best = min(gains, key=lambda filters: gains[filters].middle)
    shares = gains[best]
    ours = (
        f"at most {1 - shares.middle:.0%} ({1 - shares.high:.0%} to {1 - shares.low:.0%}), at {best:,} filters; "
        + ", ".join(f"{1 - share.middle:.0%} at {filters:,}" for filters, share in gains.items())
    )
    if 1 - shares.middle >= _GAIN:
        return Finding(30, ours, "holds")
    reason = (
        "skipping a posting costs one memory access here, to the bit of its interface, and counting it one more, to "
        "its counter: so excluding interfaces saves little"
    )
    return Finding(30, ours, "differs" if 1 - shares.middle >= _SOME_GAIN else "fails", reason)


def _charts(tables: Tables, _: Figure7aParameters) -> list[Chart]:
    rows = [{**row, "ms": row["us"] / 1000} for row in tables["times"].to_pylist()]
    return [
        Chart(
            "figure-7a", "Figure 7a: one server, one interface per filter",
            summary(rows, "method", "constraints", value="ms"), "constraints", "ms", series="method",
            x_log=True, y_log=True, x_title="constraints", y_title="ms per message", bands=(("low", "high"),),
            description="Time per message by number of constraints, with 0 and 10 rounds, and by pivot.",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2002-figure-7a",
    title="Time per message at one server",
    paper="2002",
    section="§5.2, Figure 7a",
    claims=(29, 30),
    scales={
        "quick": Figure7aParameters((100, 1000, 10_000, 100_000)),
        "full": Figure7aParameters((100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
        "paper": Figure7aParameters((100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000), turns=15),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=("Zipf's exponent is not in the paper: 1.", TIMES),
)
