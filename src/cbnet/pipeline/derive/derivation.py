"""Derivation of descriptors from tag sets, with the counts of the same pass.

Rows are shuffled by user, once. Equal sets of a user are then adjacent, as are all rows of a user; flags on the first
of each let Spark count users and descriptors in the pass that writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic, sleep
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812, Spark's usual name
from pyspark.sql.types import IntegerType, StructField, StructType

from cbnet.errors import CbnetError
from cbnet.pipeline.derive.cleaning import Cleaning, clean_batches
from cbnet.pipeline.derive.derivation_counts import DerivationCounts
from cbnet.pipeline.schemas import TAGGED

CLEAN = StructType([*TAGGED.fields, StructField("raw_tags", IntegerType())])
_MAX_WAIT = 60.0  # seconds until Spark delivers the counts of a job that has ended

Observed: TypeAlias = tuple[Observation, Sequence[str]]  # an observation, and the names of its counts
_INPUT_COUNTS = ("read", "users_read", "tags_read", "kept")
_OUTPUT_COUNTS = ("derived", "users", "tags")


@dataclass(frozen=True)
class Derivation:
    """Descriptors (DESCRIPTORS), and the counts of the first action on them."""

    descriptors: DataFrame
    _counts: DerivationCounts
    _observed: Sequence[Observed]

    def counts(self) -> DerivationCounts:
        """Return the counts of rows read and kept, and of descriptors derived, by the first action."""
        counts: dict[str, Any] = {}
        for observation, names in self._observed:
            values = _observed_values(observation)
            counts |= {name: values[name] or 0 for name in names}  # the sum of no rows is null
        return replace(self._counts, **counts)


def clean_rows(tagged: DataFrame, cleaning: Cleaning) -> DataFrame:
    """Return rows of TAGGED with clean tags, and the number of tags before cleaning as `raw_tags`."""
    cleaning.check()
    return tagged.select(*TAGGED.names).mapInArrow(partial(clean_batches, cleaning=cleaning), CLEAN)


def derive_per_row(tagged: DataFrame, cleaning: Cleaning, counts: DerivationCounts, role: str) -> Derivation:
    """Derive a descriptor from each row (TAGGED) that has tags."""
    return derive_by_user(clean_rows(tagged, cleaning), counts, role, cleaning.duplicates)


def derive_by_user(
    rows: DataFrame,
    counts: DerivationCounts,
    role: str,
    duplicates: bool,
    input_observed: Sequence[Observed] | None = None,
) -> Derivation:
    """Derive a descriptor from each row of user, clean tags and `raw_tags` that has tags.

    With `duplicates`, equal sets of a user give one descriptor. The input counts are those of these rows unless
    `input_observed` has them.
    """
    empty = F.size("tags") == 0
    within = Window.partitionBy("user").orderBy(empty, "tags")
    flagged = rows.select(
        "user", "tags", "raw_tags",
        empty.alias("empty"),
        (F.row_number().over(within) == 1).alias("first"),
        F.lag("tags").over(within).eqNullSafe(F.col("tags")).alias("again"),
    )  # fmt: skip
    gives = ~F.col("empty") & ~F.col("again") if duplicates else ~F.col("empty")
    observation = Observation()
    observed = flagged.observe(
        observation,
        F.count(F.lit(1)).alias("read"),
        F.count_if("first").alias("users_read"),
        F.sum("raw_tags").alias("tags_read"),
        F.count_if(~F.col("empty")).alias("kept"),
        F.count_if(gives).alias("derived"),
        F.count_if(F.col("first") & ~F.col("empty")).alias("users"),
        F.sum(F.when(gives, F.size("tags"))).alias("tags"),
    )
    app = [F.lit(counts.app).alias("app"), F.lit(role).alias("role")]
    descriptors = observed.where(gives).select(*app, "user", "tags")
    if input_observed is None:
        input_observed = [(observation, _INPUT_COUNTS)]
    return Derivation(descriptors, counts, [*input_observed, (observation, _OUTPUT_COUNTS)])


def _observed_values(observation: Observation) -> dict[str, Any]:
    """Return the values of an observation; raise an error, where Spark would wait for ever, before any action."""
    end = monotonic() + _MAX_WAIT
    while not observation._jo.future().isCompleted():  # type: ignore[union-attr]
        if monotonic() > end:
            raise CbnetError("the counts are known only after the descriptors have been computed")
        sleep(0.05)
    return observation.get
