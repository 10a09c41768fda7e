"""Partitions: into how many parts is a stage cut? What it returns never depends on that."""

from __future__ import annotations

from math import ceil

from pyspark.sql import SparkSession

_ROWS = 1_000_000  # of one part: some 100 MB in a Python worker
_FEWEST = 16


def partitions_for(spark: SparkSession, rows: float) -> int:
    """Return how many parts keep all cores busy, and each part small."""
    return max(spark.sparkContext.defaultParallelism, ceil(rows / _ROWS))


def shuffle_partitions(spark: SparkSession) -> int:
    """Return how many parts to shuffle into where the number of rows is not known."""
    return max(2 * spark.sparkContext.defaultParallelism, _FEWEST)
