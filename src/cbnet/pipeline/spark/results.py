"""Stored results of stages: numbered snapshots, each with a manifest that is written last.

    out/population/_snapshot-000012-3f9a/part-…        rows, usually as Parquet
    out/population/_snapshot-000012-3f9a/_cbnet.json   the manifest: files, provenance, cost, facts

The snapshot with the highest number that has a manifest is the current one. So nothing is ever replaced: no file system
needs atomic replacement, and a killed run leaves the previous result intact. The previous one is kept, as others may be
reading it; older ones are deleted. The names of snapshots are hidden from Spark, which would read several as one:
results are read by the files that the manifest lists, with sizes and numbers of rows, so a lost file is noticed.

The fingerprint of a result covers the stage, its version, its parameters and the fingerprints of its inputs; the rows
depend on nothing else. Folders may be on any file system that Spark can write to. Local ones are read without Spark.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from secrets import token_hex
from time import monotonic
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

import cbnet
from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.filesystem import (
    delete,
    exists,
    list_files,
    list_names,
    local_path,
    read_text,
    spark_path,
    write_text,
)
from cbnet.pipeline.spark.observed_counts import observed

MANIFEST = "_cbnet.json"
_SNAPSHOT = re.compile(r"(?:.*/)?_snapshot-(\d{6,})-[0-9a-f]{4}")  # the name of a snapshot, with its number
_KEPT = 2  # complete snapshots: the current one, and the one before for those who are reading it

Facts = Mapping[str, Any]


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


@dataclass(frozen=True)
class Provenance:
    """Everything that determines a result."""

    stage: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)  # name -> fingerprint
    version: int = 1  # of the stage

    @property
    def fingerprint(self) -> str:
        """A hash of all members: 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class StoredResult:
    """A complete result."""

    folder: str
    provenance: Provenance
    snapshot: Snapshot
    rows: int
    seconds: float
    written: str  # time in UTC
    cost: Facts = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)  # counts and measures of the stage
    origin: Facts = field(default_factory=dict)  # input files, master and versions, which do not determine the rows

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.snapshot.files)

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows."""
        return self.snapshot.frame(spark)

    def manifest(self) -> dict[str, Any]:
        """Return the members of the manifest."""
        provenance, snapshot = self.provenance, self.snapshot
        return {
            **asdict(provenance), "fingerprint": provenance.fingerprint,
            "snapshot": snapshot.folder.rpartition("/")[2], "written": self.written,
            "rows": self.rows, "bytes": self.bytes, "seconds": self.seconds,
            "cost": self.cost, "facts": self.facts, "origin": self.origin, "schema": snapshot.schema,
            "files": [asdict(file) for file in snapshot.files],
        }  # fmt: skip


def write_result(
    spark: SparkSession,
    content: DataFrame | Callable[[str], int],
    folder: str,
    provenance: Provenance,
    *,
    partition_by: Sequence[str] = (),
    started: float | None = None,
    facts: Callable[[Snapshot], Facts] = lambda _: {},
    cost: Callable[[], Facts] = dict,
    files: Sequence[str] = (),
) -> StoredResult:
    """Write the result of a stage to its folder, beside an earlier one.

    `content` is the rows, or a function that writes files to the folder of a snapshot and returns the number of rows.
    The time counts from `started` (of `time.monotonic`), by default from this call. `facts` and `cost` are called once
    the files are written; if one raises an error, the earlier result stays. `files` are the paths of input files.
    """
    started = monotonic() if started is None else started
    written = datetime.now(UTC)
    snapshot, rows = write_snapshot(spark, content, f"{folder}/{new_snapshot_name(spark, folder)}", partition_by)
    values, costs = facts(snapshot), cost()
    seconds = round(monotonic() - started, 3)
    time = written.isoformat(timespec="seconds")
    versions = {"cbnet": cbnet.__version__, "spark": spark.version, "master": spark.sparkContext.master}
    origin = {"files": [*files], **versions}
    result = StoredResult(folder, provenance, snapshot, rows, seconds, time, costs, values, origin)
    write_manifest(spark, snapshot.folder, result.manifest())
    for old in superseded(spark, folder):
        delete(spark, old)
    return result


def read_result(spark: SparkSession | None, folder: str) -> StoredResult | None:
    """Return the result in a folder; None if there is none. Without a session only local folders can be read."""
    for name in snapshot_names(spark, folder):
        try:
            members = read_manifest(spark, f"{folder}/{name}")
            if members is not None:
                return _of_members(folder, members)
        except (ValueError, KeyError, TypeError):
            file, hint = f"{folder}/{name}/{MANIFEST}", "run the stage again"
            raise InputError("this is not the manifest of a result", hint=hint, file=file) from None
    return None


def damage(spark: SparkSession | None, result: StoredResult) -> str | None:
    """Return what is wrong with the files of a result: a lost or changed one; None if all are as they were written.

    Names and sizes are compared, and the numbers of rows of local Parquet files.
    """
    found = list_files(spark, result.snapshot.folder)
    files = result.snapshot.files
    lost = [file.name for file in files if file.name not in found]
    if lost:
        return f"{len(lost)} of {len(files)} files missing: {lost[0]}{', …' if len(lost) > 1 else ''}"
    for file in files:
        if found[file.name] != file.bytes:
            return f"{file.name} has {found[file.name]:,} bytes, not {file.bytes:,}"
        rows = None if file.rows is None else local_rows(f"{result.snapshot.folder}/{file.name}")
        if rows not in (None, file.rows):
            return f"{file.name} is not the file that was written"
    return None


def superseded(spark: SparkSession | None, folder: str) -> Iterator[str]:
    """Yield the obsolete snapshots in a folder: all but the current one and the one before it."""
    kept = 0
    for name in snapshot_names(spark, folder):
        if kept < _KEPT and exists(spark, f"{folder}/{name}/{MANIFEST}"):
            kept += 1
        else:
            yield f"{folder}/{name}"


def read_manifest(spark: SparkSession | None, folder: str) -> dict[str, Any] | None:
    """Return the members of the manifest of a folder; None if it has none."""
    text = read_text(spark, f"{folder}/{MANIFEST}")
    return None if text is None else dict(json.loads(text))


def write_manifest(spark: SparkSession | None, folder: str, members: Mapping[str, Any]) -> None:
    """Write the manifest of a folder, whose other files are complete."""
    write_text(spark, f"{folder}/{MANIFEST}", json.dumps(members, indent=2) + "\n")


def _of_members(folder: str, members: dict[str, Any]) -> StoredResult:
    provenance = Provenance(members["stage"], members["parameters"], members["inputs"], members["version"])
    files = [StoredFile(**file) for file in members["files"]]
    snapshot = Snapshot(f"{folder}/{members['snapshot']}", files, members["schema"])
    measures = (members[name] for name in ("rows", "seconds", "written", "cost", "facts", "origin"))
    return StoredResult(folder, provenance, snapshot, *measures)


def is_snapshot(path: str) -> bool:
    """Return whether a folder has the name of a snapshot."""
    return _SNAPSHOT.fullmatch(path) is not None


def snapshot_names(spark: SparkSession | None, folder: str) -> list[str]:
    """Return the names of the snapshots in a folder, the newest first; not all of them need be complete."""
    names = filter(is_snapshot, list_names(spark, folder))
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
        return Snapshot(folder, stored_files(spark, folder)), rows
    observation = Observation()
    counted = content.observe(observation, F.count(F.lit(1)).alias("rows"))
    counted.write.partitionBy(*partition_by).parquet(path)
    snapshot = Snapshot(folder, stored_files(spark, folder), content.schema.jsonValue())
    counts = _row_counts(spark, snapshot)
    rows, written = sum(counts.values()), observed(spark, observation).get("rows")
    if written is None:
        warnings.warn(f"{folder}: Spark has not counted the rows written; its files were not compared", stacklevel=2)
    elif written != rows:
        raise CbnetError(f"{folder}: {written:,} rows were written, but the files there have {rows:,}; run it again")
    files = [StoredFile(file.name, file.bytes, counts.get(file.name, 0)) for file in snapshot.files]
    return Snapshot(folder, files, snapshot.schema), rows


def stored_files(spark: SparkSession, folder: str) -> list[StoredFile]:
    """Return the files that were written to a folder."""
    return [StoredFile(*file) for file in list_files(spark, folder).items()]


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
    local = local_path(path)
    if local is None:
        return None
    try:
        return int(pq.read_metadata(local).num_rows)
    except (OSError, pa.ArrowException):
        return -1


def _without_patterns(path: str) -> str:
    """Return a path that Spark does not take for a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
