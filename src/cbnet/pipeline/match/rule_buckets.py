"""Matches in buckets, so that those of one rule are found without a file per rule.

    folder/bucket=0/part-….parquet      all matches of some rules, sorted by rule
    folder/bucket=1/part-….parquet

A folder per rule would be a million folders. So rules share *buckets*, by a public hash, and each bucket is
one file, or more if it is long. Rows are sorted by rule, so a reader of one rule opens one folder and reads
only the row groups whose statistics include it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.match.bucket_numbers import BUCKET


def bucketed(rows: DataFrame, buckets: int) -> DataFrame:
    """Return matches with their bucket, in the order of their files; with `buckets=0`, the rows as they are."""
    if not buckets:
        return rows
    bucket = F.pmod(F.crc32(F.col("rule").cast("string").cast("binary")), F.lit(buckets)).cast("int")
    # Rebalanced: a bucket becomes one file, or is written by several tasks if one rule has very many matches.
    return rows.withColumn(BUCKET, bucket).hint("rebalance", BUCKET).sortWithinPartitions(BUCKET, "rule")


def rule_counts(rows: DataFrame) -> DataFrame:
    """Return the number of matches of each rule: rule, matches. Of Parquet, only one column is read."""
    return rows.groupBy("rule").agg(F.count("*").alias("matches"))
