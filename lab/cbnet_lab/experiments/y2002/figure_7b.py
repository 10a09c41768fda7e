"""Figure 7b of [2002]: time per message at a router with a fixed number of interfaces."""

from __future__ import annotations

from cbnet_lab.experiments.curves import Metrics, grouped, last_decade, medians, ratio, slope, where
from cbnet_lab.experiments.experiment import ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.timing import CENTRAL, COUNTING, PIVOT, SELECTIVE, SweepParameters, sweep
from cbnet_lab.workload import Forwarding2002

_PAPER_CASE = "I = 20"
_MANY = 100  # filters per interface


def _run(parameters: SweepParameters, context: ExperimentContext) -> Results:
    mixes = [
        Forwarding2002(M=parameters.messages, F=filters, I=interfaces or None)
        for filters in parameters.filters
        for interfaces in parameters.interfaces
    ]
    return {"times": sweep(mixes, (COUNTING, SELECTIVE, PIVOT), parameters, context)}


def _metrics(rows: Rows, _: SweepParameters) -> Metrics:
    groups = grouped(where(rows["times"], method=COUNTING.name), "case")
    curves = {case: medians(group, "filters") for (case,), group in groups.items()}
    last = max(curves[CENTRAL])
    cases = [
        {"case": case, "slope": slope(last_decade(curve)), "faster": curves[CENTRAL][last] / curve[last]}
        for case, curve in curves.items()
    ]
    fixed = [row for row in cases if row["case"] != CENTRAL]
    many = [
        {"case": case, "filters": filters, **ratio(group, SELECTIVE.name, COUNTING.name)}
        for (case, filters), group in grouped(rows["times"], "case", "filters").items()
        if group[0]["filters"] >= _MANY * group[0]["interfaces"]
    ]
    return {
        "filters": last,
        "central": where(cases, case=CENTRAL)[0],
        "fixed": fixed,
        "paper": where(fixed, case=_PAPER_CASE),
        "others": [row for row in fixed if row["case"] != _PAPER_CASE],
        "many": many,
        "tables": len(many),
        "many_filters": max((row["filters"] for row in many), default=None),
    }


EXPERIMENT = experiment("2002-figure-7b", SweepParameters, _run, _metrics)
