"""Metrics of the disjunction advantage α [2006 §4], from tables of `monte_carlo`.

Where we show a variant beside the method of the paper, the paper's own method decides. Metrics that a run is too small
for, or whose scenario it does not have, are None.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import expm1, inf
from typing import TypeAlias

from cbnet.routing.sizing.advantage import expected
from cbnet_lab.experiments.curves import Metrics, Row, grouped
from cbnet_lab.experiments.y2006.monte_carlo import READINGS, RULES, SHARE, UNIVERSES

Points: TypeAlias = dict[int, Row]  # number of predicates -> percentiles
Curves: TypeAlias = Mapping[tuple[str, str], Points]  # by scenario and rule

_HALF = 0.5
_RELIABLY = 100  # predicates; with fewer, no scenario is reliably at 0.5 [§4.2]
_PERCENTILES = {"p50": "median", "p95": "95th percentile"}


def general_metrics(rows: list[Row]) -> Metrics:
    """Return the metrics of the general model [§4.1]."""
    curves = _curves(rows)
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


def _universe(curves: Curves, universe: int) -> Row:
    """Return the differences from the closed form and its approximation, and the reduction of five predicates."""
    uniform = curves[f"uniform-{universe}", "distinct"].items()
    return {
        "universe": universe,
        "exact": max(abs(row["p50"] - _exact(count, universe)) for count, row in uniform),
        "approximate": max(abs(row["p50"] - _approximate(count, universe)) for count, row in uniform),
        **{reading: 1 - curves[f"zipf-{universe}", reading][5]["p50"] for reading in READINGS},
    }


def _exact(predicates: int, universe: int) -> float:
    return expected(predicates, universe // SHARE, universe)


def _approximate(predicates: int, universe: int) -> float:
    ratio = predicates * (universe // SHARE) / universe
    return -expm1(-ratio) / ratio


def specific_metrics(rows: list[Row]) -> Metrics:
    """Return the metrics of the specific model [§4.2], for the scenarios that were run."""
    curves = _curves(rows)
    steps = [
        points[10 * count]["p50"] < row["p50"]
        for points in curves.values()
        for count, row in points.items()
        if count >= 10 and 10 * count in points
    ]
    worst = [_crossing(curves["uniform-500", rule], rule) for rule in RULES if ("uniform-500", rule) in curves]
    return {
        "sets": min(row["sets"] for row in rows),
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


def _zipf_and_uniform(curves: Curves) -> Metrics:
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


def _lowest(curves: Curves) -> Row | None:
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
    below = {name: _first_below(points, name) for name in _PERCENTILES}
    texts = [
        f"{label} not up to {max(points):,}" if below[name] is None else f"{label} from about {below[name]:,.0f} on"
        for name, label in _PERCENTILES.items()
    ]
    first = below["p50"]
    return {
        "rule": rule, "text": "; ".join(texts), "first": inf if first is None else first,
        "reach": max(points) if first is None else inf,
    }  # fmt: skip


def _first_below(points: Points, name: str) -> float | None:
    """Return the number of predicates where a percentile falls below 0.5, by linear interpolation."""
    last = None
    for count, row in sorted(points.items()):
        if row[name] < _HALF:
            if last is None:
                return float(count)
            before, after = float(points[last][name]), float(row[name])
            return last + (count - last) * (before - _HALF) / (before - after)
        last = count
    return None


def _curves(rows: list[Row]) -> Curves:
    return {
        (scenario, rule): {row["predicates"]: row for row in group}
        for (scenario, rule), group in grouped(rows, "scenario", "rule").items()
    }
