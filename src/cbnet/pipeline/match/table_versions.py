"""Table versions of micro-batches, fixed before a batch is matched and kept for its replay.

    checkpoint/cbnet/tables/3f…9a.cbt     every version in use; these files do not change
    checkpoint/cbnet/versions/7.json      the versions for batch 7, written before it is matched

A new table at the path of the old one is used from the next batch on.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from cbnet.errors import InputError
from cbnet.files import unreadable
from cbnet.pipeline.match.batch_matcher import FAIL, RULE, OnError
from cbnet.pipeline.match.dataframe_matcher import match_shipped
from cbnet.pipeline.match.shipped_tables import ShippedTable, ship_tables, store_table
from cbnet.pipeline.spark.filesystem import (
    delete,
    download,
    exists,
    fetch,
    list_names,
    process_folder,
    read_text,
    spark_path,
    upload,
    write_text,
)
from cbnet.pipeline.spark.session_target import is_connect

_KEPT_BATCHES = 100  # as many as Spark keeps

_FileState = tuple[int, int, int]


class TableVersions:
    """The tables at some paths, and their version for each batch of a stream.

    versions = TableVersions("table.cbt", state="routed/_versions")
    stream.writeStream.foreachBatch(lambda rows, batch: versions.match(rows, batch, key="id").write…)
    """

    def __init__(
        self, table: str | Path | Sequence[str | Path], state: str, remark: Callable[[str], None] = warnings.warn
    ) -> None:
        """Keep versions in the folder `state`, one for each stream; `remark` is called about a damaged table file."""
        self._paths = [str(path) for path in ([table] if isinstance(table, str | Path) else table)]
        self._folder = spark_path(state)
        self._remark = remark
        self._known: dict[str, tuple[_FileState | None, str]] = {}  # its state when last checked, and its version
        self._newest: list[str] = []  # versions of the last batch that was fixed here

    def match(
        self,
        rows: DataFrame,
        batch: int,
        *,
        key: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        details: bool = False,
        filters: bool = False,
        on_error: OnError = FAIL,
    ) -> DataFrame:
        """Return the matches of a micro-batch as `match` does, with a column for the version of the table.

        A batch that is matched again after a crash is matched with the same version.
        """
        tables = self.ship(rows.sparkSession, batch, filters=filters)
        return match_versioned(rows, tables, key=key, columns=columns, details=details, on_error=on_error)

    def ship(self, spark: SparkSession, batch: int, *, filters: bool) -> list[ShippedTable]:
        """Send the tables for a batch to all executors."""
        return ship_tables(spark, [*self.of_batch(spark, batch)], filters=filters)

    def of_batch(self, spark: SparkSession, batch: int) -> list[Path]:
        """Return the local table files for a batch; the first call for a batch fixes their versions."""
        if is_connect(spark):
            hint = "use match(stream, table), whose table is fixed, or a classic session"
            raise InputError("versions of tables are not kept under Spark Connect", hint=hint)
        pin = f"{self._folder}/versions/{batch}.json"
        stored = read_text(spark, pin)
        if stored is None:
            versions = [self._current(spark, path) for path in self._paths]
            write_text(spark, pin, json.dumps({"batch": batch, "tables": versions}) + "\n")
            if versions != self._newest:
                self._forget_before(spark, batch - _KEPT_BATCHES)
                self._newest = versions
            else:  # no table has become needless
                delete(spark, f"{self._folder}/versions/{batch - _KEPT_BATCHES - 1}.json")
        else:
            versions = json.loads(stored)["tables"]
        return [self._local(spark, version) for version in versions]

    def _current(self, spark: SparkSession, path: str) -> str:
        """Store the table at a path and return its version; the version before it if the file is damaged."""
        before = self._known.get(path)
        try:
            local = fetch(spark, path)
            state = _file_state(local)
            if before is not None and before[0] == state:
                return before[1]
            version = _version(store_table(local, process_folder()))
        except InputError as error:
            if before is None:
                raise
            self._remark(f"{error}; using the previous table")
            self._known[path] = (None, before[1])
            return before[1]
        stored = self._stored(version)
        if not exists(spark, stored):
            upload(spark, _local(version), stored)
        self._known[path] = (state, version)
        return version

    def _local(self, spark: SparkSession, version: str) -> Path:
        path = _local(version)
        if not path.exists():
            download(spark, self._stored(version), path)
        return path

    def _stored(self, version: str) -> str:
        return f"{self._folder}/tables/{version}.cbt"

    def _forget_before(self, spark: SparkSession, first: int) -> None:
        """Delete the versions of old batches, and the tables that no kept batch needs."""
        pins = {int(name.removesuffix(".json")): name for name in self._names(spark, "versions", ".json")}
        old = [name for batch, name in pins.items() if batch < first]
        for name in old:
            delete(spark, f"{self._folder}/versions/{name}")
        if old:
            kept = {version for name in {*pins.values()} - {*old} for version in self._pinned(spark, name)}
            for name in self._names(spark, "tables", ".cbt"):
                if name.removesuffix(".cbt") not in kept:
                    delete(spark, f"{self._folder}/tables/{name}")

    def _names(self, spark: SparkSession, folder: str, suffix: str) -> list[str]:
        names = list_names(spark, f"{self._folder}/{folder}")
        return [name for name in names if name.endswith(suffix) and not name.startswith(".")]

    def _pinned(self, spark: SparkSession, name: str) -> list[str]:
        versions: list[str] = json.loads(read_text(spark, f"{self._folder}/versions/{name}") or "{}")["tables"]
        return versions


def match_versioned(
    rows: DataFrame,
    tables: Sequence[ShippedTable],
    *,
    key: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    details: bool,
    on_error: OnError,
    is_counted: bool = False,
) -> DataFrame:
    """Match with a version of a table. Interfaces are strings: the schema must be the same with every version."""
    matched = match_shipped(
        rows, tables, key=key, columns=columns, details=details, version=True, on_error=on_error, is_counted=is_counted
    )
    return matched.withColumn(RULE, F.col(RULE).cast("string"))


def _file_state(path: Path) -> _FileState:
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(path, error) from None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _version(kept: Path) -> str:
    return kept.stem.removeprefix("cbnet-")


def _local(version: str) -> Path:
    return process_folder() / f"cbnet-{version}.cbt"
