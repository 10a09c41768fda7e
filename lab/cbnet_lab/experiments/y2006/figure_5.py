"""Figure 5 of [2006]: the disjunction advantage of predicates that are sets of messages."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet.routing.sizing.advantage import expected
from cbnet_lab.experiments.claim import Finding
from cbnet_lab.experiments.curves import Row
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.y2006.advantage_claims import findings_of, general_comparisons
from cbnet_lab.experiments.y2006.monte_carlo import (
    GENERAL_COUNTS,
    SHARE,
    UNIVERSES,
    advantages_in_bits,
    general_advantages,
)
from cbnet_lab.report.chart import Chart, PublishedValue

_ZOOM = 0.1  # of nk / |M|, the range of the second graph
_READING_LABELS = {"distinct": "predicates of k distinct messages", "draws": "predicates of k draws"}
_REASONS = {
    61: "the curve of one message in a hundred per predicate is not always lower",
    62: "by the paper's definition, |p| = k, a predicate has k distinct messages; its number fits k draws, some of "
    "them repeated, divided by nk all the same",
}


@dataclass(frozen=True)
class Figure5Parameters2006:
    """Messages per universe, and sets of predicates."""

    universes: tuple[int, ...]
    sets: int
    spark: bool = False


def _run(parameters: Figure5Parameters2006, context: ExperimentContext) -> dict[str, pa.Table]:
    table = general_advantages(
        parameters.universes, sets=parameters.sets, seed=context.seed, processes=1,
        progress=lambda done, total: context.progress(done, total, "sets"),
        spark=context.spark() if parameters.spark else None,
    )  # fmt: skip
    return {"advantages": table}


def _findings(tables: Tables, _: Figure5Parameters2006) -> list[Finding]:
    return findings_of(general_comparisons(tables["advantages"]), _REASONS)


def _points(table: pa.Table) -> list[Row]:
    """Return a point of the median for each scenario, reading and number of predicates."""
    points = []
    for row in table.to_pylist():
        distribution, universe = row["scenario"].split("-")
        series = f"{distribution}, 10^{len(universe) - 1} messages"
        labels = {"of": _READING_LABELS[row["rule"]], "distribution": distribution, "series": series}
        points.append({**labels, "ratio": row["predicates"] / SHARE, "alpha": row["p50"]})
    return points


def _charts(tables: Tables, parameters: Figure5Parameters2006) -> list[Chart]:
    rows, bits = (_points(table) for table in (tables["advantages"], advantages_in_bits(tables["advantages"])))
    universe = max(parameters.universes)
    closed = [
        {"of": label, "distribution": "uniform", "series": "closed form", "ratio": count / SHARE}
        | {"alpha": expected(count, universe // SHARE, universe)}
        for label in _READING_LABELS.values()
        for count in GENERAL_COUNTS
    ]
    zipf = [row for row in rows if row["distribution"] == "zipf" and row["ratio"] <= _ZOOM]
    return [
        Chart(
            "figure-5", "Figure 5: α in the general model", pa.Table.from_pylist([*rows, *closed]), "ratio", "alpha",
            series="series", facet="of", x_title="nk / |M|", y_title="α",
            description="α by nk / |M| for uniform and Zipf, by universe, with the closed form:",
        ),
        Chart(
            "figure-5-zipf", "Figure 5, right: Zipf up to 0.1", pa.Table.from_pylist(zipf), "ratio", "alpha",
            series="series", facet="of", x_title="nk / |M|", y_title="α",
            published=(PublishedValue("about 50 % for five predicates of one message in a hundred", 0.05, 0.5),),
            description="α by nk / |M| up to 0.1 for Zipf:",
        ),
        Chart(
            "figure-5-bits", "α in bits, where a large set is a bitmap of the universe", pa.Table.from_pylist(bits),
            "ratio", "alpha", series="series", facet="of", x_title="nk / |M|", y_title="α",
            description="α by nk / |M| with M(p) = min(|M|, |p| log |M|) of §2.4, for uniform and Zipf, by universe:",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2006-figure-5",
    title="The disjunction advantage of sets of messages",
    paper="2006",
    section="§4.1, Figure 5",
    claims=(60, 61, 62),
    scales={
        "quick": Figure5Parameters2006(UNIVERSES, 5),
        "full": Figure5Parameters2006(UNIVERSES, 10, spark=True),
        "paper": Figure5Parameters2006(UNIVERSES, 100, spark=True),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "k is a hundredth of the universe, as in the paper's example; n grows.",
        "“Size k” is k distinct messages, as the paper defines it; k draws, which may repeat, are shown beside.",
        "α is measured in messages, as in the paper; in bits, M(p) is the smaller of |M| and |p| log |M|.",
    ),
)
