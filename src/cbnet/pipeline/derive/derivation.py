"""Derived: how do the tag sets of users become descriptors, and what came of how much, counted in the same pass?

Rows are brought together by user, once. There a user's equal sets stand side by side, and all rows of a user do;
flags on the first of each let Spark count users and descriptors while it hands them on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic, sleep
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812, the name that Spark's own documents use
from pyspark.sql.types import IntegerType, StructField, StructType

from cbnet.errors import CbnetError
from cbnet.pipeline.derive.cleaning import Cleaning, clean_batches
from cbnet.pipeline.derive.derivation_counts import Yield
from cbnet.pipeline.schemas import TAGGED

CLEAN = StructType([*TAGGED.fields, StructField("given", IntegerType())])
_LONGEST_WAIT = 60.0  # seconds for Spark to hand over what it has already counted

Counted: TypeAlias = tuple[Observation, Sequence[str]]  # where something is counted, and the names of the counts
_OF_THE_INPUT = ("read", "users_read", "tags_read", "kept")
_OF_THE_OUTPUT = ("derived", "users", "tags")


@dataclass(frozen=True)
class Derived:
    """Descriptors, in the schema DESCRIPTORS, and after a whole action on them the count of what they came from."""

    descriptors: DataFrame
    _told: Yield
    _counted: Sequence[Counted]

    def counts(self) -> Yield:
        """Return what the first action on the descriptors read, kept and derived."""
        found: dict[str, Any] = {}
        for observation, names in self._counted:
            got = _got(observation)
            found |= {name: got[name] or 0 for name in names}  # the sum of no rows is null
        return replace(self._told, **found)


def cleaned(tagged: DataFrame, cleaning: Cleaning) -> DataFrame:
    """Return rows of TAGGED with their tags clean, and a column `given`: how many there were before."""
    cleaning.check()
    return tagged.select(*TAGGED.names).mapInArrow(partial(clean_batches, cleaning=cleaning), CLEAN)


def one_for_each(tagged: DataFrame, cleaning: Cleaning, told: Yield, role: str) -> Derived:
    """Derive a descriptor from each row that has tags: what its user is interested in, or offers."""
    return by_user(cleaned(tagged, cleaning), told, role, cleaning.duplicates)


def by_user(
    rows: DataFrame, told: Yield, role: str, duplicates: bool, input_counted: Sequence[Counted] | None = None
) -> Derived:
    """Derive a descriptor from each row of a user, clean tags and `given` that has tags.

    With `duplicates`, equal sets of a user give one. These rows are what was read, unless `input_counted` says more.
    """
    empty = F.size("tags") == 0
    within = Window.partitionBy("user").orderBy(empty, "tags")
    flagged = rows.select(
        "user", "tags", "given",
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
        F.sum("given").alias("tags_read"),
        F.count_if(~F.col("empty")).alias("kept"),
        F.count_if(gives).alias("derived"),
        F.count_if(F.col("first") & ~F.col("empty")).alias("users"),
        F.sum(F.when(gives, F.size("tags"))).alias("tags"),
    )
    descriptors = observed.where(gives).select(F.lit(told.app).alias("app"), F.lit(role).alias("role"), "user", "tags")
    if input_counted is None:
        input_counted = [(observation, _OF_THE_INPUT)]
    return Derived(descriptors, told, [*input_counted, (observation, _OF_THE_OUTPUT)])


def _got(observation: Observation) -> dict[str, Any]:
    """Return what was observed; an error, where Spark would wait for ever, if nothing has been computed."""
    end = monotonic() + _LONGEST_WAIT
    while not observation._jo.future().isCompleted():  # type: ignore[union-attr]
        if monotonic() > end:
            raise CbnetError("the counts are known after the descriptors have been computed, not before")
        sleep(0.05)
    return observation.get
