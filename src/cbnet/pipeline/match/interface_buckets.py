"""Routed: how are matches written, so that an interface finds its own, without a small file for each of them?

    folder/bucket=0/part-….parquet      all matches of some interfaces, sorted by interface
    folder/bucket=1/part-….parquet

A folder for each interface would be a million folders. So interfaces share *buckets*, by a hash that anybody can
compute, and each bucket is one file, or more if it is long. Inside, rows are sorted, so who looks for an interface
reads one folder, and of its files the parts whose statistics hold it.
"""

from __future__ import annotations

import zlib

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

BUCKETS = 16
_ROWS = 5_000_000  # in a file; more go to the next


def bucket_of(interface: str | int, buckets: int = BUCKETS) -> int:
    """Return the bucket of an interface: the CRC-32 of its text, modulo their number."""
    return zlib.crc32(str(interface).encode()) % buckets


def write_routed(matches: DataFrame, folder: str, *, buckets: int = BUCKETS) -> None:
    """Write matches, over what is there; without buckets, in the files that they happen to be in."""
    if not buckets:
        matches.write.mode("overwrite").option("maxRecordsPerFile", _ROWS).parquet(folder)
        return
    bucket = F.pmod(F.crc32(F.col("interface").cast("string").cast("binary")), F.lit(buckets)).cast("int")
    spread = matches.withColumn("bucket", bucket).repartition(buckets, "bucket")
    sorted_rows = spread.sortWithinPartitions("bucket", "interface")
    sorted_rows.write.mode("overwrite").option("maxRecordsPerFile", _ROWS).partitionBy("bucket").parquet(folder)


def interface_counts(spark: SparkSession, folder: str) -> DataFrame:
    """Return how many matches each interface has: interface, matches. Only one column is read."""
    rows = spark.read.parquet(folder)
    return rows.groupBy("interface").agg(F.count("*").alias("matches"))


def read_interface(spark: SparkSession, folder: str, interface: str | int, *, buckets: int = BUCKETS) -> DataFrame:
    """Return the matches of one interface; only its bucket is read."""
    rows = spark.read.parquet(folder)
    own = rows.where(F.col("interface") == interface)
    return own.where(F.col("bucket") == bucket_of(interface, buckets)) if "bucket" in rows.columns else own
