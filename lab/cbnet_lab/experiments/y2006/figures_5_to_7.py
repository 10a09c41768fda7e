"""Figures 5 to 7 of [2006]: the disjunction advantage of sets of messages, and of predicates of the language.

Figures 6 and 7 show one Monte Carlo simulation: Figure 6 with Zipf-distributed names, Figure 7 with uniform names.
The verdicts follow the rules of the paper; our rules are shown alongside.
"""

from __future__ import annotations

from math import expm1, inf

from cbnet.routing.sizing.advantage import expected
from cbnet_lab.experiments.curves import Metrics, Row, falls_below
from cbnet_lab.experiments.experiment import ExperimentContext, Parameters, Results, Rows, experiment
from cbnet_lab.experiments.y2006.monte_carlo import (
    GENERAL_COUNTS,
    READINGS,
    RULES,
    SHARE,
    UNIVERSES,
    AdvantageCurves,
    Points,
    advantage_curves,
    general_advantages,
    specific_advantages,
)

_ZOOM = 0.1  # of nk / |M|, the range of the second graph
_READING_LABELS = {"distinct": "predicates of k distinct messages", "draws": "predicates of k draws"}
_HALF = 0.5
_RELIABLY = 100  # predicates; with fewer, no scenario is reliably at 0.5 [§4.2]
_PERCENTILES = {"p50": "median", "p95": "95th percentile"}


# --- Figure 5


def _run_5(parameters: Parameters, context: ExperimentContext) -> Results:
    table = general_advantages(
        parameters.universes, sets=parameters.sets, seed=context.seed, processes=1,
        progress=lambda done, total: context.progress(done, total, "sets"),
        spark=context.spark() if parameters.spark else None,
    )  # fmt: skip
    return {"advantages": table}


def _metrics_5(rows: Rows, _: Parameters) -> Metrics:
    curves = advantage_curves(rows["advantages"])
    universes = sorted({int(scenario.split("-")[1]) for scenario, _ in curves})
    lower = [
        points["p50"] < curves[f"uniform-{universe}", reading][count]["p50"]
        for universe in universes
        for reading in READINGS
        for count, points in curves[f"zipf-{universe}", reading].items()
        if count > 1 or reading == "draws"  # k distinct messages alone always have α = 1
    ]
    return {
        "universes": [_universe(curves, universe) for universe in universes],
        "not_drawn": [universe for universe in UNIVERSES if universe not in universes],
        "points": len(lower),
        "lower": sum(lower),
        "not_lower": len(lower) - sum(lower),
    }


def _universe(curves: AdvantageCurves, universe: int) -> Row:
    """Return the differences from the closed form and its approximation, and the reduction of five predicates."""
    uniform = curves[f"uniform-{universe}", "distinct"].items()
    ratios = {count: count * (universe // SHARE) / universe for count, _ in uniform}
    return {
        "universe": universe,
        "exact": max(abs(row["p50"] - expected(count, universe // SHARE, universe)) for count, row in uniform),
        "approximate": max(abs(row["p50"] + expm1(-ratios[count]) / ratios[count]) for count, row in uniform),
        **{reading: 1 - curves[f"zipf-{universe}", reading][5]["p50"] for reading in READINGS},
    }


def _points(rows: list[Row]) -> list[Row]:
    """Return a point of the median for each scenario, reading and number of predicates."""
    points = []
    for row in rows:
        distribution, universe = row["scenario"].split("-")
        series = f"{distribution}, 10^{len(universe) - 1} messages"
        labels = {"of": _READING_LABELS[row["rule"]], "distribution": distribution, "series": series}
        points.append({**labels, "ratio": row["predicates"] / SHARE, "alpha": row["p50"]})
    return points


def _charts_5(rows: Rows, parameters: Parameters) -> dict[str, list[Row]]:
    points = _points(rows["advantages"])
    universe = max(parameters.universes)
    closed = [
        {"of": label, "distribution": "uniform", "series": "closed form", "ratio": count / SHARE}
        | {"alpha": expected(count, universe // SHARE, universe)}
        for label in _READING_LABELS.values()
        for count in GENERAL_COUNTS
    ]
    return {
        "figure-5": [*points, *closed],
        "figure-5-zipf": [row for row in points if row["distribution"] == "zipf" and row["ratio"] <= _ZOOM],
    }


FIGURE_5 = experiment("2006-figure-5", _run_5, _metrics_5, _charts_5)


# --- Figures 6 and 7


def _run_6_7(parameters: Parameters, context: ExperimentContext) -> Results:
    table = specific_advantages(
        sets=parameters.sets, max_predicates=parameters.max_predicates, terms=context.news_terms, seed=context.seed,
        processes=context.processes, progress=lambda done, total: context.progress(done, total, "sets"),
        spark=context.spark() if parameters.spark else None,
    )  # fmt: skip
    return {"advantages": table}


def _metrics_6_7(rows: Rows, _: Parameters) -> Metrics:
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


FIGURES_6_7 = experiment("2006-figures-6-7", _run_6_7, _metrics_6_7)
