"""Figure 7a of [2002]: time per message at one central server, with one interface per filter."""

from __future__ import annotations

from cbnet_lab.experiments.curves import Metrics, end_point, gain, grouped, median, medians, where
from cbnet_lab.experiments.experiment import ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.timing import CENTRAL, COUNTING, PIVOT, SELECTIVE, SweepParameters, sweep
from cbnet_lab.workload import Forwarding2002

_PAPER_FILTERS = 1_000_000
_SMALL = 2000  # filters; in smaller tables a gain is a few nanoseconds


def _run(parameters: SweepParameters, context: ExperimentContext) -> Results:
    """Measure tables with one interface per filter; `interfaces`: of further tables with the most filters."""
    sizes = [(filters, 0) for filters in parameters.filters]
    sizes += [(max(parameters.filters), interfaces) for interfaces in parameters.interfaces]
    mixes = [Forwarding2002(M=parameters.messages, F=filters, I=interfaces or None) for filters, interfaces in sizes]
    return {"times": sweep(mixes, (COUNTING, SELECTIVE, PIVOT), parameters, context)}


def _metrics(rows: Rows, _: SweepParameters) -> Metrics:
    central = where(rows["times"], case=CENTRAL)
    end = end_point(medians(where(central, method=SELECTIVE.name), "filters"), _PAPER_FILTERS)
    others = (COUNTING.name, PIVOT.name)
    gains = [
        {"case": case, "filters": filters, **gain(group, SELECTIVE.name, COUNTING.name)}
        for (case, filters), group in grouped(rows["times"], "case", "filters").items()
        if filters >= _SMALL
    ]
    own = where(gains, case=CENTRAL)
    return {
        "end": end,
        "others": [
            {"method": each, "us": median(where(central, method=each, filters=end["filters"]))} for each in others
        ],
        "gains": gains,
        "tables": len(own),
        "filters": max((row["filters"] for row in own), default=None),
        "best": max(own, key=lambda row: float(row["gain"]), default=None),
    }


EXPERIMENT = experiment("2002-figure-7a", SweepParameters, _run, _metrics)
