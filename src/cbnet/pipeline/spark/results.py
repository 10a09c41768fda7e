"""Stored results of stages: numbered snapshots, each with a manifest that is written last.

    out/population/_snapshot-000012-3f9a/part-…        rows, usually as Parquet
    out/population/_snapshot-000012-3f9a/_cbnet.json   the manifest: files, provenance, cost, facts

The snapshot with the highest number that has a manifest is the current one. So nothing is ever replaced: no file system
has to do that in one operation, and a run that is killed leaves the result before it. That one is kept, as others may
be reading it; those before are deleted. Results are read by the files that the manifest lists, with sizes and numbers
of rows, so a lost file is noticed.

The fingerprint of a result covers the stage, its version, its parameters and the fingerprints of its inputs; the rows
depend on nothing else. Folders may be on any file system that Spark can write to. Local ones are read without Spark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import cbnet
from cbnet.errors import InputError
from cbnet.pipeline.spark.filesystem import delete, exists, list_files, read_text, spark_path, write_text
from cbnet.pipeline.spark.snapshots import (
    Snapshot,
    StoredFile,
    local_rows,
    new_snapshot_name,
    snapshot_names,
    write_snapshot,
)

MANIFEST = "_cbnet.json"
_KEPT = 2  # complete snapshots: the current one, and the one before for those who are reading it

Facts = Mapping[str, Any]


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
    write_text(spark, _manifest_path(snapshot.folder), json.dumps(result.manifest(), indent=2) + "\n")
    for old in superseded(spark, folder):
        delete(spark, spark_path(old))
    return result


def read_result(spark: SparkSession | None, folder: str) -> StoredResult | None:
    """Return the result in a folder; None if there is none. Without a session only local folders can be read."""
    for name in snapshot_names(spark, folder):
        path = _manifest_path(f"{folder}/{name}")
        text = read_text(spark, path)
        if text is not None:
            try:
                return _of_members(folder, json.loads(text))
            except (ValueError, KeyError, TypeError):
                hint = "run the stage again"
                raise InputError("this is not the manifest of a result", hint=hint, file=path) from None
    return None


def damage(spark: SparkSession | None, result: StoredResult) -> str | None:
    """Return what is wrong with the files of a result: a lost or changed one; None if all are as they were written.

    Names and sizes are compared, and the numbers of rows of local Parquet files.
    """
    found = list_files(spark, spark_path(result.snapshot.folder))
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
    """Yield the snapshots in a folder that nobody needs: all but the current one and the one before it."""
    kept = 0
    for name in snapshot_names(spark, folder):
        if kept < _KEPT and exists(spark, _manifest_path(f"{folder}/{name}")):
            kept += 1
        else:
            yield f"{folder}/{name}"


def _manifest_path(snapshot: str) -> str:
    return spark_path(f"{snapshot}/{MANIFEST}")


def _of_members(folder: str, members: dict[str, Any]) -> StoredResult:
    provenance = Provenance(members["stage"], members["parameters"], members["inputs"], members["version"])
    files = [StoredFile(**file) for file in members["files"]]
    snapshot = Snapshot(f"{folder}/{members['snapshot']}", files, members["schema"])
    measures = (members[name] for name in ("rows", "seconds", "written", "cost", "facts", "origin"))
    return StoredResult(folder, provenance, snapshot, *measures)
