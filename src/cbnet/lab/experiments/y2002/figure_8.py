"""[2002 Figure 8]: how does the time of a message depend on the filters for each interface, for a table of one size?"""

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

_FEW, _MANY = 2, 100  # filters for each interface: few, many
_HELPS = 0.05
_ENOUGH = 1_000_000  # constraints
_RISE = 1.25  # what is taken for noise in a falling curve


@dataclass(frozen=True)
class Figure8Parameters:
    """Filters of all tables, filters for each interface, messages, and how often each is timed."""

    filters: int
    each: tuple[int, ...]
    messages: int = 100
    turns: int = 7
    seconds: float = 0.02


def _run(parameters: Figure8Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
    rows: list[Row] = []
    for done, each in enumerate(parameters.each):
        context.progress(done, len(parameters.each), f"{each:,} filters for each interface")
        mix = Forwarding2002(
            M=parameters.messages, F=parameters.filters, I=max(1, parameters.filters // each),
            dictionary=dictionary(context), seed=context.seed,
        )  # fmt: skip
        found = timed(mix, (COUNTING, SELECTIVE, PIVOT), turns=parameters.turns, seconds=parameters.seconds)
        rows += [{"each": each, **row} for row in found]
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
    rises = sum(later > _RISE * min(times[: place + 1]) for place, later in enumerate(times[1:]))
    if times[-1] >= times[0]:
        return Finding(33, ours, "fails", "the largest disjunctions are not faster than single filters")
    if rises:
        reason = f"it falls from the first to the last, but not at each of the {len(times) - 1} steps"
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
            34, ours, "holds" if many < _HELPS else "differs", "" if many < _HELPS else "it also helps later"
        )
    if rows[0]["constraints"] < _ENOUGH:
        return Finding(
            34, ours, "open", "in a table this small 10 rounds gain next to nothing, with few filters or many"
        )
    return Finding(34, ours, "fails", "10 rounds do not help with few filters either: see claim 30")


def _charts(tables: Tables, _: Figure8Parameters) -> list[Chart]:
    rows = [{**row, "ms": row["us"] / 1000} for row in tables["times"].to_pylist()]
    return [
        Chart(
            "figure-8", f"Figure 8: a table of {rows[0]['constraints']:,} constraints",
            summary(rows, "method", "each", value="ms"), "each", "ms", series="method", x_log=True, y_log=True,
            x_title="filters for each interface", y_title="ms for a message", bands=(("low", "high"),),
            description="Time of a message over the filters for each interface, with 0 and 10 rounds, and by pivot.",
        )
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2002-figure-8",
    title="Time of a message by filters for each interface",
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
        "The paper does not say the size of the table of Figure 8: 5 million constraints at paper scale, else fewer.",
        "Filters are dealt to the interfaces at random: what is given is the mean for each interface.",
        TIMES,
    ),
)
