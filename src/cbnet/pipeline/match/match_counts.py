"""Counts of a match, which travel with the rows and are added up by Spark's `Observation`.

A worker appends a row with its counts to each partition. `observe_counts` adds them up and removes them. Above the last
shuffle of a query, a partition whose task is repeated counts once.
"""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DoubleType, LongType, StructField, StructType

COUNTS = "_counts"  # column of the rows with counts, null in others


@dataclass(frozen=True)
class MatchCounts:
    """Counts of matching; seconds are processor time of all workers together."""

    records: int = 0
    matches: int = 0
    rejected: int = 0
    encode_s: float = 0.0
    match_s: float = 0.0

    def __add__(self, other: MatchCounts) -> MatchCounts:
        return MatchCounts(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))

    def as_arrow(self) -> pa.Array:
        """Return a column of one row."""
        return pa.array(
            [asdict(self)], pa.struct({name: pa.scalar(value).type for name, value in asdict(self).items()})
        )


_TYPES = {int: LongType(), float: DoubleType()}
COUNTS_TYPE = StructType([StructField(name, _TYPES[type(zero)]) for name, zero in asdict(MatchCounts()).items()])


def new_observation() -> Observation:
    """Return an observation, for packages that do not import Spark."""
    return Observation()


def observe_counts(rows: DataFrame, observation: Observation) -> DataFrame:
    """Return the rows without counts; an action on them completes the observation."""
    sums = (F.coalesce(F.sum(f"{COUNTS}.{name}"), F.lit(0)).alias(name) for name in COUNTS_TYPE.names)
    return rows.observe(observation, *sums).where(F.col(COUNTS).isNull()).drop(COUNTS)


def observed_counts(observation: Observation) -> MatchCounts:
    """Return the counts of a completed observation."""
    return MatchCounts(**observation.get)
