"""The folders of a stream's micro-batches, and their compaction.

    out/matches/batch=7/_cbnet.json     the manifest of batch 7: its files, rows and buckets; written last
    out/matches/batch=7/bucket=2/…      the matches of batch 7
    out/matches/batch=0-6/…             those of batches 0 to 6, after compaction

A folder is complete when it has a manifest, and readers read the files that it lists. Compaction writes a folder for
several batches, with its manifest, and then deletes theirs; after a crash in between, the narrower folders are ignored,
and deleted by the next compaction. (Spark's own marker `_SUCCESS` may be switched off, and usually is on S3.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField

from cbnet.errors import CbnetError
from cbnet.pipeline.match.bucket_numbers import BUCKET
from cbnet.pipeline.match.rule_buckets import bucketed
from cbnet.pipeline.spark.filesystem import delete, list_files, list_names, read_text, spark_path, write_text
from cbnet.pipeline.spark.results import MANIFEST
from cbnet.pipeline.spark.snapshots import Snapshot, StoredFile

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
    manifest = BatchManifest(rows, buckets, schema, list_files(spark, path))
    write_text(spark, f"{path}/{MANIFEST}", json.dumps(asdict(manifest)) + "\n")


def complete_batches(spark: SparkSession, out: str) -> Complete:
    """Return the complete folders of a stream, without those that another one replaces."""
    done = _complete(spark, _folders(spark, out))
    return {folder: done[folder] for folder in done if not any(other.includes(folder) for other in done)}


def read_complete_batches(spark: SparkSession, out: str) -> DataFrame | None:
    """Return the matches of all complete batches; None if there are none yet."""
    done = complete_batches(spark, out)
    return frame_of(spark, out, done) if done else None


def frame_of(spark: SparkSession, out: str, done: Complete) -> DataFrame:
    """Return the matches of complete folders, which are at least one."""
    # Spark does not read folders with and without buckets together.
    groups = [{folder: each for folder, each in done.items() if bool(each.buckets) == way} for way in (True, False)]
    frames = [_snapshot(out, group).frame(spark) for group in groups if group]
    return reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), frames)


def _snapshot(out: str, done: Complete) -> Snapshot:
    files = [
        StoredFile(f"{folder.name}/{name}", size) for folder, each in done.items() for name, size in each.files.items()
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
    files = [StoredFile(*file) for file in list_files(spark, merged.path).items()]
    count = Snapshot(merged.path, files, schema).frame(spark).count()
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
    texts = {folder: read_text(spark, f"{folder.path}/{MANIFEST}") for folder in folders}
    return {folder: BatchManifest(**json.loads(text)) for folder, text in texts.items() if text is not None}
