"""Matches stored in buckets, so that those of one interface are found without a file per interface.

    folder/bucket=0/part-….parquet      all matches of some interfaces, sorted by interface
    folder/bucket=1/part-….parquet

A folder per interface would be a million folders. So interfaces share *buckets*, by a public hash, and each bucket is
one file, or more if it is long. Rows are sorted by interface, so a reader of one interface opens one folder and reads
only the row groups whose statistics include it.
"""

from __future__ import annotations

import zlib

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, StructType

from cbnet.pipeline.match.match_counts import observe_counts

BUCKETS = 16
_ROWS_PER_FILE = 5_000_000


def bucket_of(interface: str | int, buckets: int = BUCKETS) -> int:
    """Return the bucket of an interface: the CRC-32 of its text modulo the number of buckets."""
    return zlib.crc32(str(interface).encode()) % buckets


def write_matches(
    rows: DataFrame, folder: str, observation: Observation, *, buckets: int = BUCKETS, mode: str = "overwrite"
) -> None:
    """Write counted matches to a folder, replacing its content; with `buckets=0`, one file per partition."""
    if buckets:
        bucket = F.pmod(F.crc32(F.col("interface").cast("string").cast("binary")), F.lit(buckets)).cast("int")
        spread = rows.withColumn("bucket", bucket).repartition(buckets, "bucket")
        rows = spread.sortWithinPartitions("bucket", "interface")
    # Counts are observed after the shuffle: there repeated tasks count once, and an empty plan is not optimized away.
    writer = observe_counts(rows, observation).write.mode(mode).option("maxRecordsPerFile", _ROWS_PER_FILE)
    (writer.partitionBy("bucket") if buckets else writer).parquet(folder)


def interface_counts(spark: SparkSession, folder: str, type: DataType) -> DataFrame:
    """Return the number of matches of each interface, of a type: interface, matches. Only one column is read."""
    rows = spark.read.schema(StructType().add("interface", type)).parquet(folder)  # without matches, there are no files
    return rows.groupBy("interface").agg(F.count("*").alias("matches"))


def read_interface(spark: SparkSession, folder: str, interface: str | int, *, buckets: int = BUCKETS) -> DataFrame:
    """Return the matches of one interface; only its bucket is read."""
    rows = spark.read.parquet(folder)
    own = rows.where(F.col("interface") == interface)
    return own.where(F.col("bucket") == bucket_of(interface, buckets)) if "bucket" in rows.columns else own
