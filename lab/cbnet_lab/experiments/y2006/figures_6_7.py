"""Figures 6 and 7 of [2006]: the disjunction advantage of predicates of the language.

Both figures show one Monte Carlo simulation: Figure 6 with Zipf-distributed names, Figure 7 with uniform names.
"""

from __future__ import annotations

from dataclasses import dataclass

from cbnet_lab.experiments.curves import Row
from cbnet_lab.experiments.experiment import ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.y2006.advantage_metrics import specific_metrics
from cbnet_lab.experiments.y2006.monte_carlo import specific_advantages


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


def _charts(rows: Rows, _: Figures6And7Parameters) -> dict[str, list[Row]]:
    labelled = [
        {**row, "of": f"{row['scenario'].replace('-', ', ')} names, {row['rule']}"} for row in rows["advantages"]
    ]
    kinds = {"figure-6": "zipf", "figure-7": "uniform"}
    return {name: [row for row in labelled if row["scenario"].startswith(kind)] for name, kind in kinds.items()}


EXPERIMENT = experiment(
    "2006-figures-6-7", Figures6And7Parameters, _run, lambda rows, _: specific_metrics(rows["advantages"]), _charts
)
