"""Figures 7a to 9 of [2002]: time per message by filters and interfaces, and the gain of rounds of selectivity.

7a   at one central server, with one interface per filter
7b   at a router with a fixed number of interfaces
8    by filters per interface, for a table of fixed size
9    gain and cost of rounds of selectivity
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from cbnet_lab.experiments.curves import (
    Metrics,
    Row,
    end_point,
    falls_below,
    gain,
    grouped,
    last_decade,
    median,
    medians,
    ratio,
    slope,
    where,
)
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment
from cbnet_lab.experiments.timing import CENTRAL, COUNTING, PIVOT, SELECTIVE, MatchMethod, sweep, swept
from cbnet_lab.workload import Forwarding2002

_METHODS = (COUNTING, SELECTIVE, PIVOT)
_PAPER_FILTERS = 1_000_000
_SMALL = 2000  # filters; in smaller tables a gain is a few nanoseconds
_PAPER_CASE = "I = 20"
_FEW, _MANY = 2, 100  # filters per interface


# --- Figure 7a


def _mixes_7a(parameters: Parameters) -> Iterator[Forwarding2002]:
    """Yield tables with one interface per filter; `interfaces`: of further tables with the most filters."""
    sizes = [(filters, 0) for filters in parameters.filters]
    sizes += [(max(parameters.filters), interfaces) for interfaces in parameters.interfaces]
    return (Forwarding2002(M=parameters.messages, F=filters, I=interfaces or None) for filters, interfaces in sizes)


def _metrics_7a(rows: Rows, _: Parameters) -> Metrics:
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


FIGURE_7A = experiment("2002-figure-7a", swept(_METHODS, _mixes_7a), _metrics_7a)


# --- Figure 7b


def _mixes_7b(parameters: Parameters) -> Iterator[Forwarding2002]:
    for filters, interfaces in product(parameters.filters, parameters.interfaces):
        yield Forwarding2002(M=parameters.messages, F=filters, I=interfaces or None)


def _metrics_7b(rows: Rows, _: Parameters) -> Metrics:
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


FIGURE_7B = experiment("2002-figure-7b", swept(_METHODS, _mixes_7b), _metrics_7b)


# --- Figure 8


def _run_8(parameters: Parameters, context: ExperimentContext) -> Results:
    filters = parameters.filters
    mixes = [Forwarding2002(M=parameters.messages, F=filters, I=max(1, filters // each)) for each in parameters.each]
    rows = sweep(mixes, _METHODS, parameters, context)
    return {"times": ({"each": row["filters"] // row["interfaces"], **row} for row in rows)}


def _metrics_8(rows: Rows, _: Parameters) -> Metrics:
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


FIGURE_8 = experiment("2002-figure-8", _run_8, _metrics_8)


# --- Figure 9


def _run_9(parameters: Parameters, context: ExperimentContext) -> Results:
    methods = [*(MatchMethod(_name(rounds), rounds=rounds) for rounds in parameters.rounds), PIVOT]
    mixes = [Forwarding2002(M=parameters.messages, F=filters, I=None) for filters in parameters.filters]
    return {"times": sweep(mixes, methods, parameters, context)}


def _name(rounds: int) -> str:
    return f"{rounds} rounds"


def _gains(rows: Rows, parameters: Parameters) -> dict[int, dict[int, Row]]:
    """Return the gain over 0 rounds, as a share, by filters and rounds."""
    return {
        filters: {rounds: gain(group, _name(rounds), _name(0)) for rounds in parameters.rounds}
        for (filters,), group in grouped(rows["times"], "filters").items()
    }


def _metrics_9(rows: Rows, parameters: Parameters) -> Metrics:
    peaks = []
    for filters, curve in _gains(rows, parameters).items():
        peak = max((rounds for rounds in curve if rounds), key=lambda rounds: float(curve[rounds]["gain"]))
        loss = falls_below({rounds: own["gain"] for rounds, own in curve.items() if rounds >= peak}, 0.0)
        end = f"not up to {max(curve)}" if loss is None else f"from about {loss:.0f} on"
        peaks.append({"filters": filters, "rounds": peak, **curve[peak], "loss": loss, "end": end})
    small, large = (end(peaks, key=lambda row: int(row["filters"])) for end in (min, max))
    return {
        "filters": large["filters"], "peaks": peaks, "never": [row for row in peaks if row["loss"] is None],
        "losses": [row for row in peaks if row["loss"] is not None], "lead": large["low"] - small["high"],
        "overlaps": large["low"] <= small["high"] and small["low"] <= large["high"],
    }  # fmt: skip


def _charts_9(rows: Rows, parameters: Parameters) -> dict[str, object]:
    points = [
        {"table": f"{filters:,} filters", "rounds": rounds, **{name: 100 * share for name, share in own.items()}}
        for filters, curve in _gains(rows, parameters).items()
        for rounds, own in curve.items()
    ]
    pivots = (
        (f"pivot, {filters:,} filters", 100 * gain(group, PIVOT.name, _name(0))["gain"])
        for (filters,), group in grouped(rows["times"], "filters").items()
    )
    return {"figure-9": {"rows": points, "references": (("no gain", 0.0), *pivots)}}


FIGURE_9 = experiment("2002-figure-9", _run_9, _metrics_9, _charts_9)
