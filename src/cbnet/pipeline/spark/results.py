"""Stored results: plain folders that every reader of Parquet reads as exactly the current rows.

    out/population/part-….parquet   the rows; others are in folders such as bucket=3
    out/population/_SUCCESS         Spark's mark of a complete folder
    out/population/_cbnet.json      the manifest: files, provenance, cost, facts
    out/_new, out/_old              what a run is writing, and what it is replacing

A result is written below `out/_new`, and takes the place of the old one by two renames. So a reader finds the files
of one of them, or an error: no two results have files of the same name. What a killed run leaves, the next one puts
back or deletes (`clean_up`). An object store has no rename: there each run writes a folder of its own, such as
out/population/run-20260731T201500-3f9a, and then the manifest in out/population, which names it.

The fingerprint of a result covers the stage, its version, its parameters and the fingerprints of its inputs; the rows
depend on nothing else. Folders may be on any file system that Spark can write to. Local ones are read without Spark.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from secrets import token_hex
from time import monotonic
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, BooleanType, IntegerType, StructType

import cbnet
from cbnet.errors import CbnetError, InputError
from cbnet.pipeline.spark.filesystem import (
    create_text,
    delete,
    exists,
    folder_files,
    has_rename,
    list_files,
    list_names,
    local_path,
    read_text,
    rename,
    spark_path,
    write_text,
)
from cbnet.pipeline.spark.lock import locked
from cbnet.pipeline.spark.observed_counts import observed

MANIFEST = "_cbnet.json"
NEW, OLD = "_new", "_old"  # folders of a run, below its output folder

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class StoredFile:
    """A file of a result."""

    name: str  # below the folder of the files
    bytes: int
    rows: int | None = None  # if it is a Parquet file of the result


@dataclass(frozen=True)
class StoredFiles:
    """The files of a result."""

    folder: str
    files: Sequence[StoredFile]
    schema: Mapping[str, Any] | None = None  # of the rows, as Spark's JSON; None: the files are no rows

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows."""
        assert self.schema is not None, f"{self.folder} has no rows"
        return read_parquet(spark, self.schema, self.folder)


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
    stored: StoredFiles
    rows: int
    seconds: float
    written: str  # time in UTC
    cost: Facts = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)  # counts and measures of the stage
    origin: Facts = field(default_factory=dict)  # input files, master and versions, which do not determine the rows

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.stored.files)

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows."""
        return self.stored.frame(spark)

    def in_place(self) -> StoredResult:
        """Return a draft as it is once its files are in the folder of the result."""
        return replace(self, stored=replace(self.stored, folder=self.folder))

    def manifest(self) -> dict[str, Any]:
        """Return the members of the manifest."""
        provenance, stored = self.provenance, self.stored
        return {
            **asdict(provenance), "fingerprint": provenance.fingerprint,
            "run": self.stored.folder.removeprefix(self.folder).lstrip("/"), "written": self.written,
            "rows": self.rows, "bytes": self.bytes, "seconds": self.seconds,
            "cost": self.cost, "facts": self.facts, "origin": self.origin, "schema": stored.schema,
            "files": [asdict(file) for file in stored.files],
        }  # fmt: skip


def write_result(
    spark: SparkSession,
    content: DataFrame | Callable[[str], int],
    out: str,
    name: str,
    provenance: Provenance,
    **more: Any,
) -> StoredResult:
    """Write a result to the folder `out/name`, in place of an earlier one; `more` as for `draft_result`."""
    return publish(spark, out, draft_result(spark, content, out, name, provenance, **more))


def draft_result(
    spark: SparkSession,
    content: DataFrame | Callable[[str], int],
    out: str,
    name: str,
    provenance: Provenance,
    *,
    partition_by: Sequence[str] = (),
    started: float | None = None,
    facts: Callable[[StoredFiles], Facts] = lambda _: {},
    cost: Callable[[], Facts] = dict,
    files: Sequence[str] = (),
    is_new: bool = False,
) -> StoredResult:
    """Write a result that does not replace the earlier one in `out/name` yet, but is complete.

    `content` is the rows, or a function that writes files to a folder and returns the number of rows. The time counts
    from `started` (of `time.monotonic`), by default from this call. `facts` and `cost` are called once the files are
    written. `files` are the paths of input files. `is_new`: an earlier result can only be an attempt to write the same
    rows, so an object store needs no folder for each run.
    """
    started = monotonic() if started is None else started
    written = datetime.now(UTC)
    folder = f"{out}/{name}"
    at = f"{out}/{NEW}/{name}"
    if not has_rename(out):
        at = folder if is_new else f"{folder}/run-{written:%Y%m%dT%H%M%S}-{token_hex(2)}"
    delete(spark, at)
    stored, rows = _write(spark, content, at, partition_by)
    create_text(spark, f"{at}/_SUCCESS", "")  # Spark may be set not to write it
    values, costs = facts(stored), cost()
    seconds = round(monotonic() - started, 3)
    time = written.isoformat(timespec="seconds")
    versions = {"cbnet": cbnet.__version__, "spark": spark.version, "master": spark.sparkContext.master}
    origin = {"files": [*files], **versions}
    result = StoredResult(folder, provenance, stored, rows, seconds, time, costs, values, origin)
    if has_rename(out):
        write_manifest(spark, at, result.in_place().manifest())
    return result


def publish(spark: SparkSession, out: str, draft: StoredResult) -> StoredResult:
    """Let a draft take the place of the earlier result."""
    folder, at = draft.folder, draft.stored.folder
    if not has_rename(out):
        write_manifest(spark, folder, draft.manifest())
        for name in list_names(spark, folder) if at != folder else ():
            if name not in (MANIFEST, at.rpartition("/")[2]):
                delete(spark, f"{folder}/{name}")
        return draft
    old = f"{out}/{OLD}/{folder.removeprefix(f'{out}/')}"
    delete(spark, old)
    if exists(spark, folder):
        rename(spark, folder, old)
    rename(spark, at, folder)
    delete(spark, old)
    return draft.in_place()


def publish_together(
    spark: SparkSession, out: str, drafts: Mapping[str, StoredResult | None], members: Mapping[str, Any]
) -> None:
    """Let drafts take the place of the earlier results of their names, delete those without one, and write a manifest.

    Where folders can be renamed, a run that is killed meanwhile is completed by the next `clean_up`.
    """
    written = {name: draft for name, draft in drafts.items() if draft is not None}
    folders = {
        name: draft.stored.folder.removeprefix(f"{out}/").removeprefix(f"{NEW}/") for name, draft in written.items()
    }
    manifest = {**members, "folders": folders}
    if has_rename(out):
        write_manifest(spark, f"{out}/{NEW}", {"names": [*drafts], "manifest": manifest})
        _complete(spark, out)
        return
    delete(spark, f"{out}/{MANIFEST}")
    for name, draft in drafts.items():
        if draft is None:
            delete(spark, f"{out}/{name}")
        else:
            publish(spark, out, draft)
    write_manifest(spark, out, manifest)


def _complete(spark: SparkSession | None, out: str) -> None:
    """Complete `publish_together` if it has begun; each step may have been done already."""
    begun = read_manifest(spark, f"{out}/{NEW}")
    if begun is None:
        return
    delete(spark, f"{out}/{MANIFEST}")
    for name in begun["names"]:
        new, folder = f"{out}/{NEW}/{name}", f"{out}/{name}"
        is_new = exists(spark, new)
        if exists(spark, folder) and (is_new or name not in begun["manifest"]["folders"]):
            rename(spark, folder, f"{out}/{OLD}/{name}")
        if is_new:
            rename(spark, new, folder)
    write_manifest(spark, out, begun["manifest"])
    delete(spark, f"{out}/{OLD}")  # while it is known that these results are replaced
    delete(spark, f"{out}/{NEW}")


@contextmanager
def writing(spark: SparkSession | None, out: str) -> Iterator[Callable[[], None]]:
    """Hold the lock of an output folder, and leave no other files than results in it.

    Yield a function that raises an error if another run has taken the lock over, as of a machine that was suspended.
    """
    with locked(spark, out) as is_held:

        def check() -> None:
            if not is_held():
                raise CbnetError(
                    f"{out}: another run has taken over the lock, which was not renewed; nothing is replaced"
                )

        clean_up(spark, out)
        try:
            yield check
        finally:
            if is_held():
                clean_up(spark, out)


def clean_up(spark: SparkSession | None, out: str) -> None:
    """Complete or undo what a killed run was replacing, and delete what it has left; the lock must be held."""
    _complete(spark, out)
    old = [*folder_files(spark, f"{out}/{OLD}")]
    names = [file.rpartition("/")[0] for file in old if file.rpartition("/")[2] == MANIFEST]
    for name in (*names, *sorted({file.partition("/")[0] for file in old})):  # those of Spark Connect have no manifest
        if not exists(spark, f"{out}/{name}"):
            rename(spark, f"{out}/{OLD}/{name}", f"{out}/{name}")
    for name in (NEW, OLD):
        delete(spark, f"{out}/{name}")


def read_result(spark: SparkSession | None, folder: str) -> StoredResult | None:
    """Return the result in a folder; None if there is none. Without a session only local folders can be read."""
    try:
        members = read_manifest(spark, folder)
        return None if members is None else _of_members(folder, members)
    except (ValueError, KeyError, TypeError):
        hint = "run the stage again"
        raise InputError("this is not the manifest of a result", hint=hint, file=f"{folder}/{MANIFEST}") from None


def read_parquet(spark: SparkSession, schema: Mapping[str, Any], top: str, names: Sequence[str] = ("",)) -> DataFrame:
    """Return the rows of a folder, or of some folders in it; the schema is Spark's JSON."""
    reader = spark.read.schema(StructType.fromJson({**schema})).option("basePath", spark_path(top))
    reader = reader.option("ignoreMissingFiles", False).option("ignoreCorruptFiles", False)
    return reader.parquet(*(without_patterns(f"{spark_path(top)}/{name}".rstrip("/")) for name in names))


def damage(spark: SparkSession | None, result: StoredResult) -> str | None:
    """Return what is wrong with the files of a result: a lost or changed one; None if all are as they were written.

    Names and sizes are compared, and the numbers of rows of local Parquet files.
    """
    found = list_files(spark, result.stored.folder)
    files = result.stored.files
    names = [file.name for file in files]
    lost = [name for name in names if name not in found]
    if lost:
        return f"{len(lost)} of {len(files)} files missing: {lost[0]}{', …' if len(lost) > 1 else ''}"
    foreign = [name for name in found if name not in names]
    if foreign and result.stored.schema:
        return f"{foreign[0]} is not a file of this result"
    for file in files:
        if found[file.name] != file.bytes:
            return f"{file.name} has {found[file.name]:,} bytes, not {file.bytes:,}"
        rows = None if file.rows is None else _local_rows(f"{result.stored.folder}/{file.name}")
        if rows not in (None, file.rows):
            return f"{file.name} is not the file that was written"
    return None


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
    stored = StoredFiles(f"{folder}/{members['run']}".rstrip("/"), files, members["schema"])
    measures = (members[name] for name in ("rows", "seconds", "written", "cost", "facts", "origin"))
    return StoredResult(folder, provenance, stored, *measures)


def _write(
    spark: SparkSession, content: DataFrame | Callable[[str], int], folder: str, partition_by: Sequence[str]
) -> tuple[StoredFiles, int]:
    """Write rows, or what a function writes and counts, to a new folder; return the number of rows, too."""
    path = spark_path(folder)
    if not isinstance(content, DataFrame):
        rows = content(path)
        return StoredFiles(folder, _files(spark, folder)), rows
    observation = Observation()
    counted = content.observe(observation, F.count(F.lit(1)).alias("rows"))
    counted.write.partitionBy(*partition_by).options(**_encodings(content.schema)).parquet(path)
    if partition_by and not list_files(spark, folder):
        _write_empty(content, path, partition_by)
    stored = StoredFiles(folder, _files(spark, folder), content.schema.jsonValue())
    counts = _row_counts(spark, stored)
    rows, written = sum(counts.values()), observed(spark, observation).get("rows")
    if written is None:
        warnings.warn(f"{folder}: Spark has not counted the rows written; its files were not compared", stacklevel=2)
    elif written != rows:
        raise CbnetError(f"{folder}: {written:,} rows were written, but the files there have {rows:,}; run it again")
    files = [StoredFile(file.name, file.bytes, counts.get(file.name, 0)) for file in stored.files]
    return replace(stored, files=files), rows


def _encodings(schema: StructType) -> dict[str, str]:
    """Return options of the writer: tags have no dictionary, which cost more time and bytes than it saved."""
    lists = [field.name for field in schema if field.dataType == ArrayType(IntegerType())]
    return {f"parquet.enable.dictionary#{name}.list.element": "false" for name in lists}


def _write_empty(content: DataFrame, path: str, partition_by: Sequence[str]) -> None:
    """Write a file without rows, as Spark does only for frames without partitions: readers need one for the schema."""
    of = {name: "false" if isinstance(content.schema[name].dataType, BooleanType) else "0" for name in partition_by}
    rest = StructType([column for column in content.schema if column.name not in of])
    folder = "/".join(f"{name}={value}" for name, value in of.items())
    content.sparkSession.createDataFrame([], rest).write.parquet(f"{path}/{folder}")


def _files(spark: SparkSession, folder: str) -> list[StoredFile]:
    """Return the files that were written to a folder."""
    return [StoredFile(*file) for file in list_files(spark, folder).items()]


def _row_counts(spark: SparkSession, stored: StoredFiles) -> dict[str, int]:
    """Return the number of rows of each file, by their footers; files without rows may lack."""
    local = {file.name: _local_rows(f"{stored.folder}/{file.name}") for file in stored.files}
    if all(rows is not None for rows in local.values()):
        return {name: rows for name, rows in local.items() if rows is not None}
    rows = stored.frame(spark).groupBy("_metadata.file_path").count().collect()
    above = stored.folder.rpartition("/")[2] + "/"
    return {unquote(path).rpartition(above)[2]: count for path, count in rows}


def _local_rows(path: str) -> int | None:
    """Return the number of rows of a local Parquet file, -1 if it is none; None if the file is not local."""
    local = local_path(path)
    if local is None:
        return None
    try:
        return int(pq.read_metadata(local).num_rows)
    except (OSError, pa.ArrowException):
        return -1


def without_patterns(path: str) -> str:
    """Return a path that Spark does not take for a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
