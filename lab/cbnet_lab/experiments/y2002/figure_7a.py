"""Figure 7a of [2002]: time per message at one central server, with one interface per filter."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import (
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
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, TIMES, timed
from cbnet_lab.report.chart import Chart, PublishedValue
from cbnet_lab.workload import Forwarding2002

_PAPER_FILTERS, _PAPER_US = 1_000_000, 330_000
_GAIN, _AROUND = 0.4, 0.05  # of the paper
_SMALL = 2000  # filters; in smaller tables a gain is a few nanoseconds
_CENTRAL = "I = F"
_WHOLE = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, _PAPER_FILTERS)

_THIRD_OF_A_SECOND = ClaimRule(
    29, f"at most {_PAPER_US // 1000} ms per message with {_PAPER_FILTERS:,} filters or more, and 10 rounds"
)
_UP_TO = ClaimRule(
    30,
    f"up to {_PAPER_FILTERS:,} filters, the largest gain of 10 rounds with I = F is {_GAIN - _AROUND:.0%} to "
    f"{_GAIN + _AROUND:.0%}",
)


@dataclass(frozen=True)
class Figure7aParameters:
    """Filters per table, interfaces of further tables with the most filters, messages, and turns."""

    filters: tuple[int, ...]
    interfaces: tuple[int, ...] = ()
    messages: int = 100
    turns: int = 7
    seconds: float = 0.02


def _run(parameters: Figure7aParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    rows: list[Row] = []
    cases = [*((filters, 0) for filters in parameters.filters)]
    cases += [(max(parameters.filters), interfaces) for interfaces in parameters.interfaces]
    for done, (filters, interfaces) in enumerate(cases):
        context.progress(done, len(cases), f"{filters:,} filters")
        mix = Forwarding2002(
            M=parameters.messages, F=filters, I=interfaces or None, dictionary=dictionary(context), seed=context.seed
        )
        timings = timed(mix, (COUNTING, SELECTIVE, PIVOT), turns=parameters.turns, seconds=parameters.seconds)
        rows += [{"case": f"I = {interfaces:,}" if interfaces else _CENTRAL, **row} for row in timings]
    return {"times": as_table(rows)}


def _findings(tables: Tables, _: Figure7aParameters) -> list[Finding]:
    rows = tables["times"].to_pylist()
    return [_time(where(rows, case=_CENTRAL)), _gain(rows)]


def _time(rows: list[Row]) -> Finding:
    curve = medians(where(rows, method=SELECTIVE.name), "filters")
    last = max(curve)
    others = {method: median(where(rows, method=method, filters=last)) for method in (COUNTING.name, PIVOT.name)}
    rivals = ", ".join(f"{method} {duration(us)}" for method, us in others.items())
    ours = f"{duration(curve[last])} at {last:,} filters ({rivals})"
    if last >= _PAPER_FILTERS:
        return _THIRD_OF_A_SECOND.decide(ours, curve[last] <= _PAPER_US, "slower than in 2002")
    growth = max(1.0, slope(last_decade(curve)))
    extrapolated = curve[last] * (_PAPER_FILTERS / last) ** growth
    reason = f"measured up to {last:,} filters; with exponent {growth:.2f} it would be {duration(extrapolated)}"
    return _THIRD_OF_A_SECOND.unmeasured(ours, reason)


def _gain(rows: list[Row]) -> Finding:
    gains = {
        key: ratio(group, SELECTIVE.name, COUNTING.name)
        for key, group in grouped(rows, "case", "filters").items()
        if key[1] >= _SMALL
    }
    central = {filters: share for (case, filters), share in gains.items() if case == _CENTRAL}
    if not central:
        return _UP_TO.unmeasured("none", f"no table has {_SMALL:,} filters or more")
    best = min(central, key=lambda filters: central[filters].middle)
    shares = central[best]
    ours = (
        f"at most {1 - shares.middle:.0%} ({1 - shares.high:.0%} to {1 - shares.low:.0%}), at {best:,} filters; "
        + ", ".join(f"{1 - share.middle:.0%} at {filters:,} ({case})" for (case, filters), share in gains.items())
    )
    if max(central) < _PAPER_FILTERS:
        return _UP_TO.unmeasured(ours, f"measured up to {max(central):,} filters")
    reason = (
        "skipping a posting costs one memory access here, to the bit of its interface, and counting it one more, to "
        "its counter: so excluding interfaces saves another share than in the paper"
    )
    return _UP_TO.decide(ours, abs(1 - shares.middle - _GAIN) <= _AROUND, reason)


def _charts(tables: Tables, _: Figure7aParameters) -> list[Chart]:
    rows = [{**row, "ms": row["us"] / 1000} for row in where(tables["times"].to_pylist(), case=_CENTRAL)]
    return [
        Chart(
            "figure-7a", "Figure 7a: one server, one interface per filter",
            summary(rows, "method", "constraints", value="ms"), "constraints", "ms", series="method",
            x_log=True, y_log=True, x_title="constraints", y_title="ms per message", bands=(("low", "high"),),
            published=(PublishedValue("330 ms with 5 million constraints", 5_000_000, _PAPER_US / 1000),),
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
        "quick": Figure7aParameters((100, 1000, 10_000, 100_000), (10_000,)),
        "full": Figure7aParameters(_WHOLE, (100_000, 10_000)),
        "paper": Figure7aParameters(_WHOLE, (300_000, 100_000, 30_000, 10_000), turns=15),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=("Zipf's exponent is not in the paper: 1.", TIMES),
    inputs=("traces",),
)
