"""Figures 6 and 7 of [2006]: the disjunction advantage of predicates of the language.

Both figures show one Monte Carlo simulation: Figure 6 with Zipf-distributed names, Figure 7 with uniform names.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet_lab.experiments.claim import Finding
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.inputs import news_terms
from cbnet_lab.experiments.y2006.advantage_claims import findings_of, specific_comparisons
from cbnet_lab.experiments.y2006.monte_carlo import specific_advantages
from cbnet_lab.report.chart import Chart, PublishedValue
from cbnet_lab.workload import SCENARIOS

_CLAIMS = (64, 65, 66, 67)
_PUBLISHED = (
    PublishedValue("500 uniform names below one half from 7,000 on", 7000, 0.5, facet="uniform, 500 names, pairwise"),
)
_REASONS = {
    64: "a median does not fall, or a spread has not halved at the largest number of predicates",
    65: "the medians cross at some numbers of predicates",
    66: "a scenario is at one half already",
    67: "it falls below one half at another number of predicates",
}


@dataclass(frozen=True)
class Figures6And7Parameters:
    """Sets of predicates per scenario, and predicates per set."""

    sets: int
    max_predicates: int
    spark: bool = False


def _run(parameters: Figures6And7Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
    table = specific_advantages(
        sets=parameters.sets, max_predicates=parameters.max_predicates, terms=news_terms(context), seed=context.seed,
        processes=context.processes, progress=lambda done, total: context.progress(done, total, "sets"),
        spark=context.spark() if parameters.spark else None,
    )  # fmt: skip
    return {"advantages": table}


def _findings(tables: Tables, _: Figures6And7Parameters) -> list[Finding]:
    comparisons = (each for each in specific_comparisons(tables["advantages"]) if each.number in _CLAIMS)
    return findings_of(comparisons, _REASONS, _CLAIMS)


def _charts(tables: Tables, _: Figures6And7Parameters) -> list[Chart]:
    rows = [
        {**row, "of": f"{row['scenario'].replace('-', ', ')} names, {row['rule']}"}
        for row in tables["advantages"].to_pylist()
    ]
    return [
        Chart(
            f"figure-{figure}", f"Figure {figure}: α, {label}",
            pa.Table.from_pylist([row for row in rows if row["scenario"].startswith(prefix)]), "predicates", "p50",
            facet="of", x_log=True, x_title="predicates", y_title="α", bands=(("min", "max"), ("p5", "p95")),
            references=(("one half", 0.5),), published=_PUBLISHED if figure == 7 else (),
            description="Median, 5th and 95th percentile, minimum and maximum of α by number of predicates:",
        )
        for figure, prefix, label in ((6, "zipf", "Zipf-distributed names"), (7, "uniform", "uniform names"))
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2006-figures-6-7",
    title="The disjunction advantage of predicates of the language",
    paper="2006",
    section="§4.2, Figures 6 and 7",
    claims=_CLAIMS,
    scales={
        "quick": Figures6And7Parameters(20, 9000),
        "full": Figures6And7Parameters(100, 10_000, spark=True),
        "paper": Figures6And7Parameters(1000, 10_000, spark=True),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        f"The scenarios are {', '.join(SCENARIOS)}: the distribution of the names, and how many there are.",
        "Zipf's exponent is 1; a name may occur twice in a conjunction, as the paper has a rule for that case.",
        "Strings are drawn by frequency: from the news corpus in --traces, or else from 200 built-in words.",
        "The paper reduces pairs of constraints and conjunctions; our full rules prove more, and are shown beside.",
    ),
    inputs=("traces",),
)
