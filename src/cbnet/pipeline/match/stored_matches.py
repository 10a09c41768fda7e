"""Stored matches: in buckets by rule, and, of a stream, in a folder for each micro-batch.

A folder per rule would be a million folders. So rules share *buckets*, by a public hash, and each bucket is one file,
or more if it is long. Rows are sorted by rule, so a reader of one rule opens one folder and reads only the row groups
whose statistics include it.

    out/matches/batch=7/_cbnet.json     the manifest of batch 7: its files, rows and buckets; written last
    out/matches/batch=7/bucket=2/…      the matches of batch 7 of some rules
    out/matches/batch=0-6/…             those of batches 0 to 6, after compaction

A folder is complete when it has a manifest, and readers read the files that it lists. Compaction writes a folder for
several batches, with its manifest, and then deletes theirs; after a crash in between, the narrower folders are ignored,
and deleted by the next compaction. (Spark's own marker `_SUCCESS` may be switched off, and usually is on S3.)
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField

from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.match.batch_matcher import RULE
from cbnet.pipeline.spark.filesystem import delete, list_files, list_names, spark_path
from cbnet.pipeline.spark.results import (
    MANIFEST,
    Snapshot,
    StoredFile,
    read_manifest,
    read_result,
    stored_files,
    write_manifest,
)

BUCKET = "bucket"  # the column; a bucket is a folder such as bucket=3
JOB_BUCKETS = 16
STREAM_BUCKETS = 4  # of each micro-batch, which has fewer matches
_PREFIX = "batch="
_BATCH = StructField("batch", StringType()).jsonValue()  # such as 7 or 0-6


@dataclass(frozen=True)
class BatchManifest:
    """What a complete folder contains."""

    rows: int
    buckets: int
    schema: Mapping[str, Any]  # of the rows, as Spark's JSON
    files: Mapping[str, int]  # name below the folder -> bytes


@dataclass(frozen=True)
class BatchFolder:
    """A folder with the matches of consecutive batches."""

    path: str
    first: int
    last: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def is_compact(self) -> bool:
        """Whether the folder is the result of a compaction."""
        return "-" in self.name

    def includes(self, other: BatchFolder) -> bool:
        """Return whether this folder replaces another."""
        return self != other and self.first <= other.first and other.last <= self.last


Complete = dict[BatchFolder, BatchManifest]


def bucket_of(rule: str | int, buckets: int) -> int:
    """Return the bucket of a rule: the CRC-32 of its text modulo the number of buckets."""
    return zlib.crc32(str(rule).encode()) % buckets


def may_have(file: str, rule: str | int, buckets: int) -> bool:
    """Return whether a file, named with the folder of its bucket, may have matches of a rule."""
    return not buckets or f"{BUCKET}={bucket_of(rule, buckets)}" in file.split("/")


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


def batch_path(out: str, batch: int | str) -> str:
    """Return the folder of the matches of a batch."""
    return f"{_top(out)}/{_PREFIX}{batch}"


def write_batch(rows: DataFrame, path: str) -> None:
    """Write matches to the folder of a batch, which is not complete yet; replace what an earlier attempt has left."""
    delete(rows.sparkSession, f"{path}/{MANIFEST}")
    # A session may be set to keep what is in other partitions of the folder.
    writer = rows.write.mode("overwrite").option("partitionOverwriteMode", "static")
    writer.partitionBy(*(name for name in rows.columns if name == BUCKET)).parquet(path)


def complete_batch(spark: SparkSession, path: str, schema: Mapping[str, Any], rows: int, buckets: int) -> None:
    """Write the manifest of a batch."""
    write_manifest(spark, path, asdict(BatchManifest(rows, buckets, schema, list_files(spark, path))))


def complete_batches(spark: SparkSession, out: str) -> Complete:
    """Return the complete folders of a stream, without those that another one replaces."""
    done = _complete(spark, _folders(spark, out))
    return {folder: done[folder] for folder in done if not any(other.includes(folder) for other in done)}


def read_complete_batches(spark: SparkSession, out: str) -> DataFrame | None:
    """Return the matches of all complete batches; None if there are none yet."""
    done = complete_batches(spark, out)
    return frame_of(spark, out, done) if done else None


def read_rule(spark: SparkSession, out: str, rule: str | int) -> DataFrame:
    """Return the matches of one rule in the output folder of a job or stream; only its buckets are read.

    The number of buckets, which may differ between the batches of a stream, is in the manifests.
    """
    result = read_result(spark, f"{out}/matches")
    if result is None:
        done = complete_batches(spark, out)
        if not done:
            hint = (
                "give the output folder of a job or stream; one of Spark Connect has no manifest: read it with a filter"
            )
            raise InputError("there are no complete matches", hint=hint, file=out)
        rows = frame_of(spark, out, done, rule)
    else:
        buckets = result.provenance.parameters["buckets"]
        files = [file for file in result.snapshot.files if may_have(file.name, rule, buckets)]
        rows = replace(result.snapshot, files=files).frame(spark)
    if RULE not in rows.columns:
        hint = "run the job again, or filter by the column interface"
        raise InputError("these matches were written by cbnet 0.2", hint=hint, file=out)
    is_text = isinstance(rows.schema[RULE].dataType, StringType)
    return rows.where(F.col(RULE) == (str(rule) if is_text else rule))


def frame_of(spark: SparkSession, out: str, done: Complete, rule: str | int | None = None) -> DataFrame:
    """Return the matches of complete folders, which are at least one, or those of the buckets of one rule."""
    # Spark does not read folders with and without buckets together.
    groups = [{folder: each for folder, each in done.items() if bool(each.buckets) == way} for way in (True, False)]
    frames = [_snapshot(out, group, rule).frame(spark) for group in groups if group]
    return reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), frames)


def _snapshot(out: str, done: Complete, rule: str | int | None) -> Snapshot:
    files = [
        StoredFile(f"{folder.name}/{name}", size)
        for folder, each in done.items()
        for name, size in each.files.items()
        if rule is None or may_have(name, rule, each.buckets)
    ]
    *_, newest = done.values()
    return Snapshot(_top(out), files, {**newest.schema, "fields": [*newest.schema["fields"], _BATCH]})


def compact_batches(spark: SparkSession, out: str, before: int, *, at_least: int = 2) -> int:
    """Merge the folders of single batches before one that runs, if there are enough; return their number.

    Batches before a running one are never matched again.
    """
    past = [folder for folder in _folders(spark, out) if folder.last < before]
    if sum(not folder.is_compact for folder in past) < at_least:
        return 0
    done = _complete(spark, past)
    _delete_replaced(spark, past, [folder for folder in done if folder.is_compact], done)
    wide = [folder for folder in done if folder.is_compact]
    single = {
        folder: done[folder]
        for folder in done
        if not folder.is_compact and not any(other.includes(folder) for other in wide)
    }
    broken = [folder for folder in past if folder.is_compact and folder not in done]
    # A merge that was interrupted is repeated, unless the batches that it had read are not there.
    have = {folder.first for folder in single}
    if len(single) < at_least or any(not have.issuperset(range(each.first, each.last + 1)) for each in broken):
        return 0
    merged = _merge(spark, out, single)
    _delete_replaced(spark, past, [merged], _complete(spark, [merged]))
    return len(single)


def _merge(spark: SparkSession, out: str, single: Complete) -> BatchFolder:
    """Write the matches of several folders to a new one."""
    folders = [*single]
    buckets = single[folders[-1]].buckets
    first, last = folders[0].first, folders[-1].last
    merged = BatchFolder(batch_path(out, f"{first}-{last}"), first, last)
    rows = frame_of(spark, out, single).drop(BUCKET, "batch")
    rows = bucketed(rows, buckets) if buckets else rows.hint("rebalance")
    write_batch(rows, merged.path)
    schema = rows.schema.jsonValue()
    count = Snapshot(merged.path, stored_files(spark, merged.path), schema).frame(spark).count()
    expected = sum(manifest.rows for manifest in single.values())
    if count != expected:
        raise CbnetError(f"{merged.path}: the compaction has {count:,} matches, not {expected:,}; nothing is deleted")
    complete_batch(spark, merged.path, schema, count, buckets)
    return merged


def _delete_replaced(
    spark: SparkSession, past: Sequence[BatchFolder], wide: Sequence[BatchFolder], done: Complete
) -> None:
    """Delete the folders that complete ones replace, whose files are all there."""
    for folder in wide:
        replaced = [other for other in past if folder.includes(other)]
        if replaced and list_files(spark, folder.path) != done[folder].files:
            raise CbnetError(f"{folder.path} has not the files of its manifest; the batches in it are not deleted")
        for other in replaced:
            delete(spark, other.path)


def _top(out: str) -> str:
    return f"{spark_path(out)}/matches"


def _folders(spark: SparkSession, out: str) -> list[BatchFolder]:
    names = [name for name in list_names(spark, _top(out)) if name.startswith(_PREFIX)]
    ends = [[*map(int, name.removeprefix(_PREFIX).split("-"))] for name in names]
    found = [BatchFolder(f"{_top(out)}/{name}", end[0], end[-1]) for name, end in zip(names, ends, strict=True)]
    return sorted(found, key=lambda folder: (folder.first, folder.last))


def _complete(spark: SparkSession, folders: Sequence[BatchFolder]) -> Complete:
    found = {folder: read_manifest(spark, folder.path) for folder in folders}
    return {folder: BatchManifest(**members) for folder, members in found.items() if members is not None}
