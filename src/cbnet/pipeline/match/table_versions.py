"""Table versions of micro-batches, fixed before a batch is matched and kept for its replay.

    checkpoint/cbnet/tables/3f…9a.cbt     every version in use; these files do not change
    checkpoint/cbnet/versions/7.json      the versions for batch 7, written before it is matched

A new table at the path of the old one is used from the next batch on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.files import unreadable
from cbnet.pipeline.match.shipped_tables import store_table
from cbnet.pipeline.spark.filesystem import (
    delete,
    download,
    exists,
    list_names,
    process_folder,
    read_text,
    upload,
    write_text,
)

_KEPT_BATCHES = 100  # as many as Spark keeps

_FileState = tuple[int, int, int]


class TableVersions:
    """The tables at some paths, and their version for each batch."""

    def __init__(
        self, spark: SparkSession, folder: str, paths: Sequence[str], remark: Callable[[str], None] = lambda _: None
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._paths = [Path(path) for path in paths]
        self._remark = remark
        self._known: dict[Path, tuple[_FileState | None, str]] = {}  # its state when last checked, and its version

    def of_batch(self, batch: int) -> list[Path]:
        """Return the local table files for a batch; the first call for a batch fixes their versions."""
        pin = f"{self._folder}/versions/{batch}.json"
        stored = read_text(self._spark, pin)
        if stored is None:
            versions = [self._current(path) for path in self._paths]
            write_text(self._spark, pin, json.dumps({"batch": batch, "tables": versions}) + "\n")
            self._forget_before(batch - _KEPT_BATCHES)
        else:
            versions = json.loads(stored)["tables"]
        return [self._local(version) for version in versions]

    def _current(self, path: Path) -> str:
        """Store the table at a path and return its version; the version before it if the file is damaged."""
        before = self._known.get(path)
        try:
            state = _file_state(path)
            if before is not None and before[0] == state:
                return before[1]
            version = _version(store_table(path, process_folder()))
        except InputError as error:
            if before is None:
                raise
            self._remark(f"{error}; using the previous table")
            self._known[path] = (None, before[1])
            return before[1]
        stored = self._stored(version)
        if not exists(self._spark, stored):
            upload(self._spark, _local(version), stored)
        self._known[path] = (state, version)
        return version

    def _local(self, version: str) -> Path:
        path = _local(version)
        if not path.exists():
            download(self._spark, self._stored(version), path)
        return path

    def _stored(self, version: str) -> str:
        return f"{self._folder}/tables/{version}.cbt"

    def _forget_before(self, first: int) -> None:
        """Delete the versions of old batches, and the tables that no kept batch needs."""
        pins = {int(name.removesuffix(".json")): name for name in self._names("versions", ".json")}
        old = [name for batch, name in pins.items() if batch < first]
        for name in old:
            delete(self._spark, f"{self._folder}/versions/{name}")
        if old:
            kept = {version for name in {*pins.values()} - {*old} for version in self._pinned(name)}
            for name in self._names("tables", ".cbt"):
                if name.removesuffix(".cbt") not in kept:
                    delete(self._spark, f"{self._folder}/tables/{name}")

    def _names(self, folder: str, suffix: str) -> list[str]:
        names = list_names(self._spark, f"{self._folder}/{folder}")
        return [name for name in names if name.endswith(suffix) and not name.startswith(".")]

    def _pinned(self, name: str) -> list[str]:
        versions: list[str] = json.loads(read_text(self._spark, f"{self._folder}/versions/{name}") or "{}")["tables"]
        return versions


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
