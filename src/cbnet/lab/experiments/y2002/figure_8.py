"""Figure 8 of [2002]: time per message by filters per interface, for a table of fixed size."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table, duration, grouped, medians, ratio, summary, where
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.inputs import dictionary
from cbnet.lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, TIMES, timed
from cbnet.lab.report.chart import Chart
from cbnet.lab.workload import Forwarding2002

_FEW, _MANY = 2, 100  # filters per interface
_HELPS = 0.05
_ENOUGH = 1_000_000  # constraints
_RISE = 1.25  # factor that counts as noise in a falling curve


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
    rises = sum(later > _RISE * min(times[: number + 1]) for number, later in enumerate(times[1:]))
    if times[-1] >= times[0]:
        return Finding(33, ours, "fails", "the largest disjunctions are not faster than single filters")
    if rises:
        reason = f"it falls from first to last, but not at each of the {len(times) - 1} steps"
        return Finding(33, ours, "differs", reason)
    return Finding(33, ours, "holds")


def _helps(rows: list[Row]) -> Finding:
    gains = {each: ratio(group, SELECTIVE.name, COUNTING.name) for (each,), group in grouped(rows, "each").items()}
    ours = "gain: " + ", ".join(f"{1 - share.middle:.0%} at {each:,}" for each, share in gains.items())
    few = max(1 - share.middle for each, share in gains.items() if each <= _FEW)
    late = [share for each, share in gains.items() if each >= _MANY]
    many = max((1 - share.high for share in late), default=0.0)  # a gain in nearly all turns
    if few >= _HELPS and few > many:
        return Finding(
            34,
            ours,
            "holds" if many < _HELPS else "differs",
            "" if many < _HELPS else "it also helps with many filters",
        )
    if rows[0]["constraints"] < _ENOUGH:
        reason = "in a table this small 10 rounds gain next to nothing, with few filters or many"
        return Finding(34, ours, "unmeasured", reason)
    return Finding(34, ours, "fails", "10 rounds do not help with few filters either: see claim 30")


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
        "full": Figure8Parameters(400_000, (1, 2, 5, 10, 100, 1000, 10_000, 50_000)),
        "paper": Figure8Parameters(
            1_000_000, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
        ),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The size of the table of Figure 8 is not in the paper: 5 million constraints at paper scale, else fewer.",
        "Filters are assigned to the interfaces at random: the numbers are means per interface.",
        TIMES,
    ),
)
