"""Pinned tables: which version of the table matches a micro-batch, now and whenever it is replayed?

    checkpoint/cbnet/tables/3f…9a.cbt     every version in use, as it was: table files do not change
    checkpoint/cbnet/versions/7.json      the versions that match batch 7, written before it is matched

Who compiles a new table in place of the old changes what the next batch is matched with, and no other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.files import unreadable
from cbnet.pipeline.match.shipped_tables import keep_table
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

_KEPT = 100  # batches whose versions are kept; Spark keeps as many of its own records

_Seen = tuple[int, int, int]


class PinnedTables:
    """The tables at some paths, and what matches which batch."""

    def __init__(
        self, spark: SparkSession, folder: str, paths: Sequence[str], remark: Callable[[str], None] = lambda _: None
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._paths = [Path(path) for path in paths]
        self._remark = remark
        self._known: dict[Path, tuple[_Seen | None, str]] = {}  # when it was last looked at, and its version then

    def of_batch(self, batch: int) -> list[Path]:
        """Return the tables that match a batch, as files of this machine; the first to ask decides."""
        pin = f"{self._folder}/versions/{batch}.json"
        said = read_text(self._spark, pin)
        if said is None:
            versions = [self._current(path) for path in self._paths]
            write_text(self._spark, pin, json.dumps({"batch": batch, "tables": versions}) + "\n")
            self._forget_before(batch - _KEPT)
        else:
            versions = json.loads(said)["tables"]
        return [self._local(version) for version in versions]

    def _current(self, path: Path) -> str:
        """Return the version at a path now, and store it; the last one that was whole, if this one is not."""
        before = self._known.get(path)
        try:
            seen = _seen(path)
            if before is not None and before[0] == seen:
                return before[1]
            version = _version(keep_table(path, process_folder()))
        except InputError as error:
            if before is None:
                raise
            self._remark(f"{error}; going on with the table before it")
            self._known[path] = (None, before[1])
            return before[1]
        stored = self._stored(version)
        if not exists(self._spark, stored):
            upload(self._spark, _local(version), stored)
        self._known[path] = (seen, version)
        return version

    def _local(self, version: str) -> Path:
        path = _local(version)
        if not path.exists():
            download(self._spark, self._stored(version), path)
        return path

    def _stored(self, version: str) -> str:
        return f"{self._folder}/tables/{version}.cbt"

    def _forget_before(self, first: int) -> None:
        """Delete what no batch that could be replayed needs; there is something only where a version is gone."""
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


def _seen(path: Path) -> _Seen:
    try:
        found = path.stat()
    except OSError as error:
        raise unreadable(path, error) from None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _version(kept: Path) -> str:
    return kept.stem.removeprefix("cbnet-")


def _local(version: str) -> Path:
    return process_folder() / f"cbnet-{version}.cbt"
