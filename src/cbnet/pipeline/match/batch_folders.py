"""The folders of a stream's micro-batches, and their compaction.

    out/matches/batch=7/…      the matches of batch 7
    out/matches/batch=0-6/…    those of batches 0 to 6, after compaction

A folder is complete when it has the file `_SUCCESS`. Compaction writes a folder for several batches and then deletes
theirs; after a crash in between, the narrower folders are ignored, and deleted by the next compaction.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from cbnet.pipeline.spark.filesystem import delete, exists, list_names, spark_path

_DONE = "_SUCCESS"
_PREFIX = "batch="
_ROWS_PER_FILE = 5_000_000


@dataclass(frozen=True)
class BatchFolder:
    """A folder with the matches of consecutive batches."""

    path: str
    first: int
    last: int

    @property
    def is_compact(self) -> bool:
        """Whether the folder is the result of a compaction."""
        return "-" in self.path.rpartition(_PREFIX)[2]

    def includes(self, other: BatchFolder) -> bool:
        """Return whether this folder replaces another."""
        return self is not other and self.first <= other.first and other.last <= self.last


def batch_path(out: str, batch: int) -> str:
    """Return the folder of the matches of a batch."""
    return f"{out}/matches/{_PREFIX}{batch}"


def read_complete_batches(spark: SparkSession, out: str) -> DataFrame | None:
    """Return the matches of all complete batches; None if there are none yet."""
    out = spark_path(out)
    found = [folder for folder in _folders(spark, out) if exists(spark, f"{folder.path}/{_DONE}")]
    current = [folder for folder in found if not any(other.includes(folder) for other in found)]
    return _read(spark, out, current)


def compact_batches(spark: SparkSession, out: str, before: int, *, at_least: int = 2) -> int:
    """Merge the folders of single batches before one that runs, if there are enough; return their number.

    Batches before a running one are never matched again.
    """
    out = spark_path(out)
    past = [folder for folder in _folders(spark, out) if folder.last < before]
    wide = [folder for folder in past if folder.is_compact and exists(spark, f"{folder.path}/{_DONE}")]
    single = [folder for folder in past if not any(other.includes(folder) for other in wide) and not folder.is_compact]
    if len(single) < at_least:
        return 0
    for folder in past:
        if folder not in wide and folder not in single:  # left by a crash
            delete(spark, folder.path)
    rows = _read(spark, out, single)
    if rows is not None:
        _write(rows.drop("batch"), f"{out}/matches/{_PREFIX}{single[0].first}-{single[-1].last}")
    for folder in single:
        delete(spark, folder.path)
    return len(single)


def _folders(spark: SparkSession, out: str) -> list[BatchFolder]:
    names = [name for name in list_names(spark, f"{out}/matches") if name.startswith(_PREFIX)]
    ends = [[*map(int, name.removeprefix(_PREFIX).split("-"))] for name in names]
    found = [BatchFolder(f"{out}/matches/{name}", end[0], end[-1]) for name, end in zip(names, ends, strict=True)]
    return sorted(found, key=lambda folder: folder.first)


def _read(spark: SparkSession, out: str, folders: list[BatchFolder]) -> DataFrame | None:
    filled = [folder.path for folder in folders if any(map(_is_data, list_names(spark, folder.path)))]
    return spark.read.option("basePath", f"{out}/matches").parquet(*filled) if filled else None


def _is_data(name: str) -> bool:
    return not name.startswith((".", "_"))


def _write(rows: DataFrame, path: str) -> None:
    """Write as many files as the rows need, sorted as those of a batch."""
    if "bucket" in rows.columns:
        buckets = rows.select("bucket").distinct().count()
        rows = rows.repartition(buckets, "bucket").sortWithinPartitions("bucket", "interface")
    else:
        rows = rows.repartition(rows.count() // _ROWS_PER_FILE + 1)
    writer = rows.write.mode("overwrite").option("maxRecordsPerFile", _ROWS_PER_FILE)
    (writer.partitionBy("bucket") if "bucket" in rows.columns else writer).parquet(path)
