"""Figures 9 and 12 of [2001]: time per message by number of filters, interfaces and names.

Both figures show the same data; Figure 12 leaves out the case of one interface per filter.
"""

from __future__ import annotations

from dataclasses import dataclass

from cbnet_lab.experiments.curves import (
    Metrics,
    Row,
    end_point,
    grouped,
    interval,
    last_decade,
    median,
    medians,
    slope,
    where,
)
from cbnet_lab.experiments.experiment import ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.timing import CENTRAL, COUNTING, PIVOT, SweepParameters, sweep
from cbnet_lab.workload import Forwarding2001

_PAPER_FILTERS = 8_192_000
_MANY, _FEW = 100, 1000  # names: many matches, few matches
_LARGEST = "I = 500"


@dataclass(frozen=True, kw_only=True)
class Figures9And12Parameters(SweepParameters):
    """Names per table; tables with many, which only show that they are faster, have at most `most_with_few` filters."""

    interfaces: tuple[int, ...] = (2, 50, 100, 200, 500, 0)
    names: tuple[int, ...] = (_FEW, _MANY)
    messages: int = 1000
    turns: int = 5
    seconds: float = 0.01
    most_with_few: int = 1_024_000


def _run(parameters: Figures9And12Parameters, context: ExperimentContext) -> Results:
    mixes = [
        Forwarding2001(N=parameters.messages, F=filters, I=interfaces or None, A=names)
        for names in parameters.names
        for filters in parameters.filters
        for interfaces in parameters.interfaces
        if names != _FEW or filters <= parameters.most_with_few
    ]
    return {"times": sweep(mixes, (COUNTING, PIVOT), parameters, context)}


def _metrics(rows: Rows, _: Figures9And12Parameters) -> Metrics:
    counting = where(rows["times"], method=COUNTING.name)
    groups = {case: group for (case,), group in grouped(where(counting, names=_MANY), "case").items()}
    pivot = where(rows["times"], method=PIVOT.name, names=_MANY)
    curves = {case: medians(group, "filters") for case, group in groups.items()}
    slopes = [
        {
            "case": case, "interfaces": group[0]["interfaces"], "slope": slope(last_decade(curves[case])),
            "counters": slope(last_decade(medians(group, "filters", "counters"))),
        }
        for case, group in groups.items()
    ]  # fmt: skip
    fixed = [row for row in slopes if row["case"] != CENTRAL]
    ends = {
        case: end_point(curve, _PAPER_FILTERS)
        | {"pivot": median(where(pivot, case=case, filters=max(curve)))}
        for case, curve in curves.items()
    }  # fmt: skip
    worst, largest = ends[CENTRAL], ends.get(_LARGEST)
    others = [end["us"] for case, end in ends.items() if case != CENTRAL and end["filters"] == worst["filters"]]
    return {
        "central": worst, "largest": largest, "slopes": slopes, "fixed": fixed,
        "over_largest": [{"times": worst["us"] / largest["us"]}] if largest else [],
        "over_next": worst["us"] / max(others, default=worst["us"]),
        "counters": interval([row["counters"] for row in fixed] or [0.0]),
        **_by_names(counting), **_plateau([group for case, group in groups.items() if case != CENTRAL]),
    }  # fmt: skip


def _by_names(rows: list[Row]) -> Metrics:
    """Return the least and greatest factor by which fewer names increase time and postings, over all tables."""
    ratios: dict[str, list[float]] = {"us": [], "postings": []}
    for group in grouped(rows, "case", "filters").values():
        few, many = where(group, names=_FEW), where(group, names=_MANY)
        if few and many:
            for value, own in ratios.items():
                own.append(median(many, value) / max(median(few, value), 1e-9))
    return {f"{end.__name__}_{value}": end(own) for value, own in ratios.items() for end in (min, max)}


def _plateau(groups: list[list[Row]]) -> Metrics:
    """Return the exponents of I in time, postings and counters, in the largest tables with fixed I."""
    last = max(row["filters"] for group in groups for row in group)
    return {
        f"exponent_{value}": slope({group[0]["interfaces"]: medians(group, "filters", value)[last] for group in groups})
        for value in ("us", "postings", "counters")
    } | {"fixed_filters": last}


EXPERIMENT = experiment("2001-figures-9-12", Figures9And12Parameters, _run, _metrics)
