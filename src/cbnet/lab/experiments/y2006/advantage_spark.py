"""The disjunction advantage on Spark: the tables of `advantage`, with the sets of predicates drawn on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cbnet.lab.experiments.experiment import Context
from cbnet.lab.experiments.y2006.advantage import GENERAL_COUNTS, SCHEMA
from cbnet.lab.workload import SCENARIOS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def specific_on_spark(context: Context, counts: Sequence[int], sets: int, terms: Path | None) -> pa.Table:
    """Return α in the specific model, of all scenarios."""
    from cbnet.lab.experiments.y2006.monte_carlo import specific_advantages

    drawn = specific_advantages(context.spark(), counts, sets=sets, terms=terms, seed=context.seed)
    return _table(drawn, list(SCENARIOS))


def general_on_spark(context: Context, universes: Sequence[int], sets: int) -> pa.Table:
    """Return α in the general model."""
    from cbnet.lab.experiments.y2006.monte_carlo import general_advantages

    drawn = general_advantages(context.spark(), GENERAL_COUNTS, universes, sets=sets, seed=context.seed)
    return _table(drawn, [f"{name}-{universe}" for name in ("uniform", "zipf") for universe in universes])


def _table(drawn: DataFrame, scenarios: Sequence[str]) -> pa.Table:
    """Return the percentiles over the sets, in the order of the scenarios."""
    from cbnet.lab.experiments.y2006.monte_carlo import advantage_percentiles

    found = advantage_percentiles(drawn).toArrow().to_pylist()
    rules = ("pairwise", "full", "distinct", "draws")
    found.sort(key=lambda row: (scenarios.index(row["scenario"]), rules.index(row["rule"]), row["predicates"]))
    return pa.Table.from_pylist(found, schema=SCHEMA)
