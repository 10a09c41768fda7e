"""Figure 5 of [2006]: the disjunction advantage of predicates that are sets of messages."""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1

from cbnet.routing.sizing.advantage import expected
from cbnet_lab.experiments.curves import Metrics, Row
from cbnet_lab.experiments.experiment import ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.y2006.monte_carlo import (
    GENERAL_COUNTS,
    READINGS,
    SHARE,
    UNIVERSES,
    AdvantageCurves,
    advantage_curves,
    general_advantages,
)

_ZOOM = 0.1  # of nk / |M|, the range of the second graph
_READING_LABELS = {"distinct": "predicates of k distinct messages", "draws": "predicates of k draws"}


@dataclass(frozen=True)
class Figure5Parameters2006:
    """Messages per universe, and sets of predicates."""

    universes: tuple[int, ...]
    sets: int
    spark: bool = False


def _run(parameters: Figure5Parameters2006, context: ExperimentContext) -> Results:
    table = general_advantages(
        parameters.universes, sets=parameters.sets, seed=context.seed, processes=1,
        progress=lambda done, total: context.progress(done, total, "sets"),
        spark=context.spark() if parameters.spark else None,
    )  # fmt: skip
    return {"advantages": table}


def _metrics(rows: Rows, _: Figure5Parameters2006) -> Metrics:
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


def _points(rows: list[Row]) -> list[Row]:
    """Return a point of the median for each scenario, reading and number of predicates."""
    points = []
    for row in rows:
        distribution, universe = row["scenario"].split("-")
        series = f"{distribution}, 10^{len(universe) - 1} messages"
        labels = {"of": _READING_LABELS[row["rule"]], "distribution": distribution, "series": series}
        points.append({**labels, "ratio": row["predicates"] / SHARE, "alpha": row["p50"]})
    return points


def _charts(rows: Rows, parameters: Figure5Parameters2006) -> dict[str, list[Row]]:
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


EXPERIMENT = experiment("2006-figure-5", Figure5Parameters2006, _run, _metrics, _charts)
