"""Figures 6 and 7 of [2006]: the disjunction advantage of predicates of the language.

Both figures show one Monte Carlo simulation: Figure 6 with Zipf-distributed names, Figure 7 with uniform names.
The verdicts follow the rules of the paper; our rules are shown alongside.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from cbnet_lab.experiments.curves import Metrics, Row, falls_below
from cbnet_lab.experiments.experiment import ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.y2006.monte_carlo import (
    RULES,
    AdvantageCurves,
    Points,
    advantage_curves,
    specific_advantages,
)

_HALF = 0.5
_RELIABLY = 100  # predicates; with fewer, no scenario is reliably at 0.5 [§4.2]
_PERCENTILES = {"p50": "median", "p95": "95th percentile"}


@dataclass(frozen=True)
class Figures6And7Parameters:
    """Sets of predicates per scenario, and predicates per set."""

    sets: int
    max_predicates: int
    spark: bool = False


def _run(parameters: Figures6And7Parameters, context: ExperimentContext) -> Results:
    table = specific_advantages(
        sets=parameters.sets, max_predicates=parameters.max_predicates, terms=context.news_terms, seed=context.seed,
        processes=context.processes, progress=lambda done, total: context.progress(done, total, "sets"),
        spark=context.spark() if parameters.spark else None,
    )  # fmt: skip
    return {"advantages": table}


def _metrics(rows: Rows, _: Figures6And7Parameters) -> Metrics:
    """Return the metrics of the scenarios that were run; metrics that need a larger run are None."""
    curves = advantage_curves(rows["advantages"])
    steps = [
        points[10 * count]["p50"] < row["p50"]
        for points in curves.values()
        for count, row in points.items()
        if count >= 10 and 10 * count in points
    ]
    worst = [_crossing(curves["uniform-500", rule], rule) for rule in RULES if ("uniform-500", rule) in curves]
    return {
        "sets": min(row["sets"] for row in rows["advantages"]),
        "least_largest": min(max(points) for points in curves.values()),
        "steps": len(steps),
        "falling": sum(steps),
        "not_falling": len(steps) - sum(steps),
        "spreads": [_spread(scenario, points) for (scenario, rule), points in curves.items() if rule == RULES[0]],
        **_zipf_and_uniform(curves),
        "lowest": _lowest(curves),
        "worst": worst or None,
        "decisive": next((row for row in worst if row["rule"] == RULES[0]), None),
    }


def _spread(scenario: str, points: Points) -> Row:
    """Return the range from the 5th to the 95th percentile where it is widest, and at the most predicates."""
    spreads = {count: row["p95"] - row["p5"] for count, row in points.items()}
    widest, last = max(spreads, key=spreads.__getitem__), max(spreads)
    return {
        "scenario": scenario, "widest": widest, "wide": spreads[widest], "last": last, "narrow": spreads[last],
        "ratio": spreads[last] / spreads[widest] if spreads[widest] else 1.0,
    }  # fmt: skip


def _zipf_and_uniform(curves: AdvantageCurves) -> Metrics:
    """Return where the median of 500 Zipf-distributed names is lower and higher than that of uniform ones."""
    if not {(scenario, rule) for scenario in ("zipf-500", "uniform-500") for rule in RULES} <= set(curves):
        return {"compared": 0, "zipf_lower": None, "zipf_higher": None}
    differences = [
        row["p50"] - curves["uniform-500", rule][count]["p50"]
        for rule in RULES
        for count, row in curves["zipf-500", rule].items()
        if count >= 10
    ]
    lower, higher = sum(part < 0 for part in differences), sum(part > 0 for part in differences)
    return {"compared": len(differences), "zipf_lower": lower, "zipf_higher": higher}


def _lowest(curves: AdvantageCurves) -> Row | None:
    """Return the scenario with the lowest 95th percentile at 100 predicates."""
    counts = next(iter(curves.values()))
    if max(counts) < _RELIABLY:
        return None
    count = max(count for count in counts if count <= _RELIABLY)
    tops = {key: points[count]["p95"] for key, points in curves.items()}
    lowest = min(tops, key=tops.__getitem__)
    return {"predicates": count, "top": tops[lowest], "scenario": ", ".join(lowest)}


def _crossing(points: Points, rule: str) -> Row:
    """Return where the median and the 95th percentile fall below one half."""
    below = {name: falls_below({count: row[name] for count, row in points.items()}, _HALF) for name in _PERCENTILES}
    texts = [
        f"{label} not up to {max(points):,}" if below[name] is None else f"{label} from about {below[name]:,.0f} on"
        for name, label in _PERCENTILES.items()
    ]
    first = below["p50"]
    return {
        "rule": rule, "text": "; ".join(texts), "first": inf if first is None else first,
        "reach": max(points) if first is None else inf,
    }  # fmt: skip


EXPERIMENT = experiment("2006-figures-6-7", Figures6And7Parameters, _run, _metrics)
