"""Figure 8 of [2002]: time per message by filters per interface, for a table of fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from cbnet_lab.experiments.curves import Metrics, gain, grouped, medians, where
from cbnet_lab.experiments.experiment import ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.timing import COUNTING, PIVOT, SELECTIVE, TimedParameters, sweep
from cbnet_lab.workload import Forwarding2002

_FEW, _MANY = 2, 100  # filters per interface


@dataclass(frozen=True)
class Figure8Parameters(TimedParameters):
    """Filters per table, filters per interface, messages, and turns of at least `seconds`."""

    filters: int
    each: tuple[int, ...]


def _run(parameters: Figure8Parameters, context: ExperimentContext) -> Results:
    filters = parameters.filters
    mixes = [Forwarding2002(M=parameters.messages, F=filters, I=max(1, filters // each)) for each in parameters.each]
    rows = sweep(mixes, (COUNTING, SELECTIVE, PIVOT), parameters, context)
    return {"times": ({"each": row["filters"] // row["interfaces"], **row} for row in rows)}


def _metrics(rows: Rows, _: Figure8Parameters) -> Metrics:
    curve = medians(where(rows["times"], method=COUNTING.name), "each")
    times = list(curve.values())
    gains = [
        {"each": each, **gain(group, SELECTIVE.name, COUNTING.name)}
        for (each,), group in grouped(rows["times"], "each").items()
    ]
    return {
        "filters": rows["times"][0]["filters"],
        "constraints": rows["times"][0]["constraints"],
        "curve": [{"each": each, "us": us} for each, us in curve.items()],
        "over_fastest": times[-1] / min(times),
        "steps": [{"growth": later / earlier} for earlier, later in pairwise(times)],
        "gains": gains,
        "gain_of_few": max(row["gain"] for row in gains if row["each"] <= _FEW),
        "gain_of_many": max((row["gain"] for row in gains if row["each"] >= _MANY), default=0.0),
    }


EXPERIMENT = experiment("2002-figure-8", Figure8Parameters, _run, _metrics)
