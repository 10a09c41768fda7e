"""Snapshots: folders of files that are written once, and are read by a list of those files.

The names of the folders are numbered, and hidden from Spark, which would read several snapshots together as one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from cbnet.errors import CbnetError
from cbnet.pipeline.spark.filesystem import list_files, list_names, spark_path
from cbnet.pipeline.spark.local_files import local_path

_SNAPSHOT = re.compile(r"(?:.*/)?_snapshot-(\d{6,})-[0-9a-f]{4}")  # the name of a snapshot, with its number


@dataclass(frozen=True)
class StoredFile:
    """A file of a snapshot."""

    name: str  # below the folder of the snapshot
    bytes: int
    rows: int | None = None  # if it is a Parquet file of the result


@dataclass(frozen=True)
class Snapshot:
    """The files of a result."""

    folder: str
    files: Sequence[StoredFile]
    schema: Mapping[str, Any] | None = None  # of the rows, as Spark's JSON; None: the files are no rows

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows."""
        assert self.schema is not None, f"{self.folder} has no rows"
        schema = StructType.fromJson({**self.schema})
        if not self.files:  # Spark writes no file for a partitioned frame without rows
            return spark.createDataFrame([], schema)
        folder = spark_path(self.folder)
        paths = [_without_patterns(f"{folder}/{file.name}") for file in self.files]
        reader = spark.read.schema(schema).option("basePath", folder)
        return reader.option("ignoreMissingFiles", False).option("ignoreCorruptFiles", False).parquet(*paths)


def is_snapshot(path: str) -> bool:
    """Return whether a folder has the name of a snapshot."""
    return _SNAPSHOT.fullmatch(path) is not None


def snapshot_names(spark: SparkSession | None, folder: str) -> list[str]:
    """Return the names of the snapshots in a folder, the newest first; not all of them need be complete."""
    names = filter(is_snapshot, list_names(spark, spark_path(folder)))
    return sorted(names, key=lambda name: (_number(name), name), reverse=True)


def new_snapshot_name(spark: SparkSession, folder: str) -> str:
    """Return the name of the next snapshot; the random part keeps apart two runs that do not see each other's lock."""
    number = max(map(_number, snapshot_names(spark, folder)), default=0) + 1
    return f"_snapshot-{number:06}-{token_hex(2)}"


def _number(name: str) -> int:
    found = _SNAPSHOT.fullmatch(name)
    assert found is not None, name
    return int(found[1])


def write_snapshot(
    spark: SparkSession, content: DataFrame | Callable[[str], int], folder: str, partition_by: Sequence[str]
) -> tuple[Snapshot, int]:
    """Write rows, or what a function writes and counts, to a new folder; return the number of rows, too."""
    path = spark_path(folder)
    if not isinstance(content, DataFrame):
        rows = content(path)
        return Snapshot(folder, [StoredFile(*file) for file in list_files(spark, path).items()]), rows
    observation = Observation()
    observed = content.observe(observation, F.count(F.lit(1)).alias("rows"))
    observed.write.partitionBy(*partition_by).parquet(path)
    snapshot = Snapshot(
        folder, [StoredFile(*file) for file in list_files(spark, path).items()], content.schema.jsonValue()
    )
    counts = _row_counts(spark, snapshot)
    rows, written = sum(counts.values()), _observed_rows(spark, observation)
    if written is None:
        warnings.warn(f"{folder}: Spark has not counted the rows written; its files were not compared", stacklevel=2)
    elif written != rows:
        raise CbnetError(f"{folder}: {written:,} rows were written, but the files there have {rows:,}; run it again")
    files = [StoredFile(file.name, file.bytes, counts.get(file.name, 0)) for file in snapshot.files]
    return Snapshot(folder, files, snapshot.schema), rows


def _observed_rows(spark: SparkSession, observation: Observation) -> int | None:
    """Return the number of rows that tasks have written; None if Spark's listeners are too slow to report it."""
    context: Any = spark.sparkContext._jsc
    with suppress(Py4JJavaError):  # a slow listener
        context.sc().listenerBus().waitUntilEmpty()
    counted: Any = observation._jo  # Python's would wait for ever for counts that are not kept
    return int(counted.getAsJava()["rows"]) if counted.future().isCompleted() else None


def _row_counts(spark: SparkSession, snapshot: Snapshot) -> dict[str, int]:
    """Return the number of rows of each file, by their footers; files without rows may lack."""
    local = {file.name: local_rows(f"{snapshot.folder}/{file.name}") for file in snapshot.files}
    if all(rows is not None for rows in local.values()):
        return {name: rows for name, rows in local.items() if rows is not None}
    rows = snapshot.frame(spark).groupBy("_metadata.file_path").count().collect()
    above = snapshot.folder.rpartition("/")[2] + "/"
    return {unquote(path).partition(above)[2]: count for path, count in rows}


def local_rows(path: str) -> int | None:
    """Return the number of rows of a local Parquet file, -1 if it is none; None if the file is not local."""
    local = local_path(spark_path(path))
    if local is None:
        return None
    try:
        return int(pq.read_metadata(local).num_rows)
    except (OSError, pa.ArrowException):
        return -1


def _without_patterns(path: str) -> str:
    """Return a path that Spark does not take for a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
