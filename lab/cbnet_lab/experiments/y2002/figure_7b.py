"""Figure 7b of [2002]: time per message at a router with a fixed number of interfaces."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, grouped, last_decade, medians, ratio, slope, summary, where
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, TIMES, timed
from cbnet_lab.report.chart import Chart
from cbnet_lab.workload import Forwarding2002

_CENTRAL = "I = F"
_PAPER_FILTERS = 1_000_000
_PAPER_CASE, _PAPER_TIMES = "I = 20", 330 / 3  # §5.2 and §1: does not depend on the machine
_FASTER = 10.0
_SUBLINEAR = 0.8  # slope: ten times the filters take at most 6.3 times as long
_MANY = 100  # filters per interface
_SAME = 0.05

_MUCH_FASTER = ClaimRule(
    31,
    f"with {_PAPER_FILTERS:,} filters {_PAPER_CASE}, the only I in the paper, is at least {_FASTER:.0f} times as fast "
    f"as I = F, and has a slope of at most {_SUBLINEAR} over the last decade of filters",
)
_COINCIDE = ClaimRule(
    32,
    f"with {_PAPER_FILTERS:,} filters and wherever there are {_MANY} filters per interface or more, the median of "
    f"t(10 rounds) / t(0 rounds) is within {_SAME:.0%} of 1",
)


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
    if _PAPER_CASE in times:
        ours += f"; the paper's times are {_PAPER_TIMES:.0f} to 1 for {_PAPER_CASE}"
    if last < _PAPER_FILTERS:
        return _MUCH_FASTER.unmeasured(ours, f"measured up to {last:,} filters")
    bad = [case for case, faster in times.items() if faster < _FASTER or slopes[case] > _SUBLINEAR]
    if _PAPER_CASE not in bad and bad:
        return _MUCH_FASTER.differs(ours, f"not for {', '.join(bad)}, our choice: too few filters per interface")
    return _MUCH_FASTER.decide(ours, not bad, "not much faster, or not sublinear")


def _coincide(rows: list[Row]) -> Finding:
    shares = {
        (case, filters): ratio(group, SELECTIVE.name, COUNTING.name)
        for (case, filters), group in grouped(rows, "case", "filters").items()
        if group[0]["filters"] >= _MANY * group[0]["interfaces"]
    }
    if not shares:
        return _COINCIDE.unmeasured("none", f"no table has {_MANY} filters or more per interface")
    ours = ", ".join(
        f"{share.format('{:.2f}'.format)} at {case}, {filters:,} filters" for (case, filters), share in shares.items()
    )
    largest = max(filters for _, filters in shares)
    if largest < _PAPER_FILTERS:
        return _COINCIDE.unmeasured(ours, f"measured up to {largest:,} filters")
    apart = [f"{case} with {filters:,}" for (case, filters), share in shares.items() if abs(share.middle - 1) > _SAME]
    return _COINCIDE.decide(ours, not apart, f"more than {_SAME:.0%} apart: {', '.join(apart)} filters")


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
    inputs=("traces",),
)
