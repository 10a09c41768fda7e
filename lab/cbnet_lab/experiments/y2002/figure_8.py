"""Figure 8 of [2002]: time per message by filters per interface, for a table of fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table, duration, grouped, medians, ratio, summary, where
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import dictionary
from cbnet_lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, TIMES, timed
from cbnet_lab.report.chart import Chart
from cbnet_lab.workload import Forwarding2002

_FEW, _MANY = 2, 100  # filters per interface
_HELPS = 0.05
_PAPER_FILTERS = 1_000_000  # with 5 million constraints
_RISE = 1.1  # factor that counts as noise in a falling curve

_BEST_LAST = ClaimRule(
    33,
    f"with {_PAPER_FILTERS:,} filters the largest disjunctions are the fastest, and no step to larger ones takes more "
    f"than {_RISE - 1:.0%} longer",
)
_ONLY_FEW = ClaimRule(
    34,
    f"with {_PAPER_FILTERS:,} filters 10 rounds gain {_HELPS:.0%} or more with at most {_FEW} filters per interface, "
    f"and less than that from {_MANY} filters on",
)


@dataclass(frozen=True)
class Figure8Parameters:
    """Filters per table, filters per interface, messages, and turns of at least `seconds`."""

    filters: int
    each: tuple[int, ...]
    messages: int = 100
    turns: int = 7
    seconds: float = 0.02


def _run(parameters: Figure8Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
    rows: list[Row] = []
    for done, each in enumerate(parameters.each):
        context.progress(done, len(parameters.each), f"{each:,} filters per interface")
        mix = Forwarding2002(
            M=parameters.messages, F=parameters.filters, I=max(1, parameters.filters // each),
            dictionary=dictionary(context), seed=context.seed,
        )  # fmt: skip
        timings = timed(mix, (COUNTING, SELECTIVE, PIVOT), turns=parameters.turns, seconds=parameters.seconds)
        rows += [{"each": each, **row} for row in timings]
    return {"times": as_table(rows)}


def _findings(tables: Tables, _: Figure8Parameters) -> list[Finding]:
    rows = tables["times"].to_pylist()
    return [_falls(rows), _helps(rows)]


def _falls(rows: list[Row]) -> Finding:
    curve = medians(where(rows, method=COUNTING.name), "each")
    ours = f"{rows[0]['constraints']:,} constraints: " + ", ".join(
        f"{duration(us)} at {each:,}" for each, us in curve.items()
    )
    times = list(curve.values())
    if rows[0]["filters"] < _PAPER_FILTERS:
        return _BEST_LAST.unmeasured(ours, f"a table of {rows[0]['filters']:,} filters")
    if times[-1] > min(times):
        return _BEST_LAST.fails(ours, "the largest disjunctions are not the fastest")
    rises = sum(later > _RISE * earlier for earlier, later in pairwise(times))
    return _BEST_LAST.decide(ours, not rises, f"rises at {rises} of {len(times) - 1} steps")


def _helps(rows: list[Row]) -> Finding:
    gains = {each: ratio(group, SELECTIVE.name, COUNTING.name) for (each,), group in grouped(rows, "each").items()}
    ours = "gain: " + ", ".join(f"{1 - share.middle:.0%} at {each:,}" for each, share in gains.items())
    if rows[0]["filters"] < _PAPER_FILTERS:
        return _ONLY_FEW.unmeasured(ours, f"a table of {rows[0]['filters']:,} filters")
    few = max(1 - share.middle for each, share in gains.items() if each <= _FEW)
    many = max((1 - share.middle for each, share in gains.items() if each >= _MANY), default=0.0)
    if few < _HELPS:
        return _ONLY_FEW.fails(ours, "10 rounds do not help with few filters either: see claim 30")
    return _ONLY_FEW.decide(ours, many < _HELPS, "it also helps with many filters per interface")


def _charts(tables: Tables, _: Figure8Parameters) -> list[Chart]:
    rows = [{**row, "ms": row["us"] / 1000} for row in tables["times"].to_pylist()]
    return [
        Chart(
            "figure-8", f"Figure 8: a table of {rows[0]['constraints']:,} constraints",
            summary(rows, "method", "each", value="ms"), "each", "ms", series="method", x_log=True, y_log=True,
            x_title="filters per interface", y_title="ms per message", bands=(("low", "high"),),
            description="Time per message by filters per interface, with 0 and 10 rounds, and by pivot.",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2002-figure-8",
    title="Time per message by filters per interface",
    paper="2002",
    section="§5.2, Figure 8",
    claims=(33, 34),
    scales={
        "quick": Figure8Parameters(60_000, (1, 10, 100, 1000, 10_000)),
        "full": Figure8Parameters(_PAPER_FILTERS, (1, 2, 5, 10, 100, 1000, 10_000, 50_000)),
        "paper": Figure8Parameters(
            _PAPER_FILTERS, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
        ),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The size of the table of Figure 8 is not in the paper: 5 million constraints, except in quick runs.",
        "Filters are assigned to the interfaces at random: the numbers are means per interface.",
        TIMES,
    ),
    inputs=("traces",),
)
