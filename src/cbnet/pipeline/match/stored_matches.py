"""Stored matches: in buckets by rule, and, of a stream, in a folder for each micro-batch.

A folder per rule would be a million folders. So rules share *buckets*, by a public hash, and each bucket is one file,
or more if it is long. Rows are sorted by rule, so a reader of one rule opens one folder and reads only the row groups
whose statistics include it.

    out/matches/bucket=2/…              of a job: the matches of some rules
    out/matches/batch=7/bucket=2/…      of a stream: the matches of batch 7, or of the batches up to 7 that were merged
    out/matches/batch=7/_cbnet.json     the manifest, which says which batches they are

A folder appears when it is complete (see `results`), so every reader of Parquet reads exactly the current matches. A
compaction hides `matches` while it replaces folders, which takes a few renames: a query that reads meanwhile fails.
"""

from __future__ import annotations

import zlib

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.match.batch_matcher import RULE
from cbnet.pipeline.spark.filesystem import delete, exists, list_names, rename, spark_path
from cbnet.pipeline.spark.results import (
    OLD,
    Provenance,
    StoredResult,
    draft_result,
    read_manifest,
    read_parquet,
    read_result,
    without_patterns,
)

BUCKET = "bucket"  # the column; a bucket is a folder such as bucket=3
JOB_BUCKETS = 16
STREAM_BUCKETS = 4  # of each micro-batch, which has fewer matches
MATCHES = "matches"
_PREFIX = "batch="
_MERGED = "_merged"  # the folder of a compaction, until those that it replaces are deleted


def bucket_of(rule: str | int, buckets: int) -> int:
    """Return the bucket of a rule: the CRC-32 of its text modulo the number of buckets."""
    return zlib.crc32(str(rule).encode()) % buckets


def bucketed(rows: DataFrame, buckets: int) -> DataFrame:
    """Return matches with their bucket, in the order of their files; with `buckets=0`, the rows as they are."""
    if not buckets:
        return rows
    bucket = F.pmod(F.crc32(F.col("rule").cast("string").cast("binary")), F.lit(buckets)).cast("int")
    # Rebalanced: a bucket becomes one file, or is written by several tasks if one rule has very many matches.
    return rows.withColumn(BUCKET, bucket).hint("rebalance", BUCKET).sortWithinPartitions(BUCKET, "rule")


def partitions(rows: DataFrame) -> list[str]:
    """Return the columns that become folders."""
    return [name for name in rows.columns if name == BUCKET]


def rule_counts(rows: DataFrame) -> DataFrame:
    """Return the number of matches of each rule: rule, matches. Of Parquet, only one column is read."""
    return rows.groupBy("rule").agg(F.count("*").alias("matches"))


def read_rule(spark: SparkSession, out: str, rule: str | int) -> DataFrame:
    """Return the matches of one rule in the output folder of a job or stream; only its bucket is read."""
    job = read_result(spark, f"{out}/{MATCHES}")
    if job is not None:
        rows, parameters = job.frame(spark), job.provenance.parameters
    else:
        parameters = read_manifest(spark, out) or {}
        has_batches = any(name.startswith(_PREFIX) for name in list_names(spark, f"{out}/{MATCHES}"))
        if "buckets" not in parameters or not has_batches:
            hint = (
                "give the output folder of a job or stream; one of Spark Connect has no manifest: read it with a filter"
            )
            raise InputError("there are no complete matches", hint=hint, file=out)
        rows = spark.read.parquet(without_patterns(spark_path(f"{out}/{MATCHES}")))
    if parameters["buckets"]:
        rows = rows.where(F.col(BUCKET) == bucket_of(rule, parameters["buckets"]))
    is_text = isinstance(rows.schema[RULE].dataType, StringType)
    return rows.where(F.col(RULE) == (str(rule) if is_text else rule))


def draft_batch(spark: SparkSession, rows: DataFrame, out: str, first: int, last: int, buckets: int) -> StoredResult:
    """Write the matches of consecutive batches, to be published as those of the last one."""
    provenance = Provenance("stream/matches", {"buckets": buckets, "batches": [first, last]})
    name = f"{MATCHES}/{_PREFIX}{last}"
    return draft_result(spark, rows, out, name, provenance, partition_by=partitions(rows), is_new=True)


def compact_batches(spark: SparkSession, out: str, before: int, *, at_least: int = 2) -> int:
    """Merge the folders of single batches before one that runs, if there are enough; return their number.

    Batches before a running one are never matched again.
    """
    out = spark_path(out)
    top = f"{out}/{MATCHES}"
    found = [read_result(spark, f"{top}/{name}") for name in list_names(spark, top)]
    batches = sorted((batch for batch in found if batch is not None), key=_span)
    single = [batch for batch in batches if _span(batch)[0] == _span(batch)[1] < before]
    if len(single) < at_least:
        return 0
    newest = single[-1]
    buckets = newest.provenance.parameters["buckets"]
    names = [batch.folder.rpartition("/")[2] for batch in single]
    rows = read_parquet(spark, newest.stored.schema or {}, top, names).drop(BUCKET, "batch")
    rows = bucketed(rows, buckets) if buckets else rows.hint("rebalance")
    merged = draft_batch(spark, rows, out, _span(single[0])[0], _span(newest)[1], buckets)
    expected = sum(batch.rows for batch in single)
    if merged.rows != expected:
        raise CbnetError(f"{top}: the compaction has {merged.rows:,} matches, not {expected:,}; nothing is deleted")
    delete(spark, _hidden(out))
    rename(spark, top, _hidden(out))
    rename(spark, merged.stored.folder, f"{_hidden(out)}/{_MERGED}")
    finish_compaction(spark, out)
    return len(single)


def finish_compaction(spark: SparkSession, out: str) -> None:
    """Show the matches again that a compaction hides, with its folder in place of others if it got so far."""
    hidden = _hidden(out)
    if not exists(spark, hidden) or exists(spark, f"{out}/{MATCHES}"):
        return
    merged = read_result(spark, f"{hidden}/{_MERGED}")
    if merged is not None:
        first, last = _span(merged)
        for batch in range(first, last + 1):
            delete(spark, f"{hidden}/{_PREFIX}{batch}")
        rename(spark, merged.folder, f"{hidden}/{_PREFIX}{last}")
    rename(spark, hidden, f"{out}/{MATCHES}")


def _span(batch: StoredResult) -> tuple[int, int]:
    first, last = batch.provenance.parameters["batches"]
    return first, last


def _hidden(out: str) -> str:
    return f"{out}/{OLD}/{MATCHES}"
