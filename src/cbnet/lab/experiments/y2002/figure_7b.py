"""Figure 7b of [2002]: time per message at a router with a fixed number of interfaces."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table, grouped, last_decade, medians, ratio, slope, summary, where
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.inputs import dictionary
from cbnet.lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, TIMES, timed
from cbnet.lab.report.chart import Chart
from cbnet.lab.workload import Forwarding2002

_CENTRAL = "I = F"
_FASTER = 2.0
_SUBLINEAR = 0.9
_MANY = 100  # filters per interface
_SAME = (0.9, 1.1)


@dataclass(frozen=True)
class Figure7bParameters:
    """Filters per table, interfaces (0: one per filter), messages, and turns of at least `seconds`."""

    filters: tuple[int, ...]
    interfaces: tuple[int, ...] = (20, 100, 500, 0)
    messages: int = 100
    turns: int = 7
    seconds: float = 0.02


def _run(parameters: Figure7bParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    cases = [(filters, interfaces) for filters in parameters.filters for interfaces in parameters.interfaces]
    rows: list[Row] = []
    for done, (filters, interfaces) in enumerate(cases):
        context.progress(done, len(cases), f"{filters:,} filters")
        mix = Forwarding2002(
            M=parameters.messages, F=filters, I=interfaces or None, dictionary=dictionary(context), seed=context.seed
        )
        timings = timed(mix, (COUNTING, SELECTIVE, PIVOT), turns=parameters.turns, seconds=parameters.seconds)
        rows += [{"case": f"I = {interfaces}" if interfaces else _CENTRAL, **row} for row in timings]
    return {"times": as_table(rows)}


def _findings(tables: Tables, _: Figure7bParameters) -> list[Finding]:
    rows = tables["times"].to_pylist()
    return [_shape(rows), _coincide(rows)]


def _shape(rows: list[Row]) -> Finding:
    curves = {
        case: medians(group, "filters") for (case,), group in grouped(where(rows, method=COUNTING.name), "case").items()
    }
    slopes = {case: slope(last_decade(curve)) for case, curve in curves.items()}
    last = max(curves[_CENTRAL])
    times = {case: curves[_CENTRAL][last] / curve[last] for case, curve in curves.items() if case != _CENTRAL}
    ours = "; ".join(f"{case}: slope {slopes[case]:.2f}, {faster:.1f} times as fast" for case, faster in times.items())
    ours += f"; {_CENTRAL}: slope {slopes[_CENTRAL]:.2f} (at {last:,} filters)"
    good = [case for case, faster in times.items() if faster >= _FASTER and slopes[case] <= _SUBLINEAR]
    if len(good) == len(times):
        return Finding(31, ours, "holds")
    others = ", ".join(case for case in times if case not in good)
    reason = f"not for {others} with these numbers of filters: too few per interface, so most interfaces do not match"
    return Finding(31, ours, "differs" if good else "fails", reason)


def _coincide(rows: list[Row]) -> Finding:
    shares = {
        (case, filters): ratio(group, SELECTIVE.name, COUNTING.name)
        for (case, filters), group in grouped(rows, "case", "filters").items()
        if group[0]["filters"] >= _MANY * group[0]["interfaces"]
    }
    if not shares:
        return Finding(32, "none", "unmeasured", f"no table has {_MANY} filters or more per interface")
    ours = ", ".join(
        f"{share.format('{:.2f}'.format)} at {case}, {filters:,} filters" for (case, filters), share in shares.items()
    )
    apart = [key for key, share in shares.items() if not (share.low <= _SAME[1] and share.high >= _SAME[0])]
    if not apart:
        return Finding(32, ours, "holds")
    cases = ", ".join(f"{case} with {filters:,} filters" for case, filters in apart)
    reason = f"more than 10 % apart in all turns: {cases}"
    return Finding(32, ours, "fails" if len(apart) == len(shares) else "differs", reason)


def _charts(tables: Tables, _: Figure7bParameters) -> list[Chart]:
    rows = [{**row, "ms": row["us"] / 1000} for row in tables["times"].to_pylist()]
    return [
        Chart(
            "figure-7b", "Figure 7b: routers with a fixed number of interfaces",
            summary(rows, "case", "method", "constraints", value="ms"), "constraints", "ms", series="method",
            facet="case", x_log=True, y_log=True, x_title="constraints", y_title="ms per message",
            bands=(("low", "high"),),
            description="Time per message by number of constraints, with 0 and 10 rounds and by pivot, for",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2002-figure-7b",
    title="Time per message at routers with a fixed number of interfaces",
    paper="2002",
    section="§5.2, Figure 7b",
    claims=(31, 32),
    scales={
        "quick": Figure7bParameters((1000, 10_000, 100_000), interfaces=(20, 500, 0), turns=5),
        "full": Figure7bParameters((1000, 10_000, 100_000, 300_000, 1_000_000)),
        "paper": Figure7bParameters(
            (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000), (10, 20, 50, 100, 500, 0)
        ),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The paper has I = 20 only; the others are our choice, and I = F is measured in the same run.",
        "Exactly F filters are assigned to the interfaces at random, at least one to each.",
        TIMES,
    ),
)
