"""Matches stored in buckets, so that those of one interface are found without a file per interface.

    folder/bucket=0/part-….parquet      all matches of some interfaces, sorted by interface
    folder/bucket=1/part-….parquet

A folder per interface would be a million folders. So interfaces share *buckets*, by a public hash, and each bucket is
one file, or more if it is long. Rows are sorted by interface, so a reader of one interface opens one folder and reads
only the row groups whose statistics include it.
"""

from __future__ import annotations

import zlib

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

BUCKETS = 16
_ROWS_PER_FILE = 5_000_000


def bucket_of(interface: str | int, buckets: int = BUCKETS) -> int:
    """Return the bucket of an interface: the CRC-32 of its text modulo the number of buckets."""
    return zlib.crc32(str(interface).encode()) % buckets


def write_matches(matches: DataFrame, folder: str, *, buckets: int = BUCKETS) -> None:
    """Write matches to a folder, replacing its content; with `buckets=0`, one file per partition."""
    if not buckets:
        matches.write.mode("overwrite").option("maxRecordsPerFile", _ROWS_PER_FILE).parquet(folder)
        return
    bucket = F.pmod(F.crc32(F.col("interface").cast("string").cast("binary")), F.lit(buckets)).cast("int")
    spread = matches.withColumn("bucket", bucket).repartition(buckets, "bucket")
    sorted_rows = spread.sortWithinPartitions("bucket", "interface")
    sorted_rows.write.mode("overwrite").option("maxRecordsPerFile", _ROWS_PER_FILE).partitionBy("bucket").parquet(
        folder
    )


def interface_counts(spark: SparkSession, folder: str) -> DataFrame:
    """Return the number of matches of each interface: interface, matches. Only one column is read."""
    rows = spark.read.parquet(folder)
    return rows.groupBy("interface").agg(F.count("*").alias("matches"))


def read_interface(spark: SparkSession, folder: str, interface: str | int, *, buckets: int = BUCKETS) -> DataFrame:
    """Return the matches of one interface; only its bucket is read."""
    rows = spark.read.parquet(folder)
    own = rows.where(F.col("interface") == interface)
    return own.where(F.col("bucket") == bucket_of(interface, buckets)) if "bucket" in rows.columns else own
