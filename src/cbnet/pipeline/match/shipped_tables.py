"""Shipped tables: how does a compiled table reach the executors, and how is it told from another?

A table is known by its *version*, the hash of its file. The file is copied, or linked, under that name before it is
used, so whoever compiles a new one in its place disturbs nobody. Spark gives the file to each host, where every Python
worker maps it once: one copy in memory for all of a host, outside of Java's heap.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.matching import Table
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.storage.columns import Texts
from cbnet.pipeline.spark.filesystem import process_folder
from cbnet.pipeline.spark.shipped_data import ship_file

AnyTable = Table[Any] | str | Path
_DIGITS = 16  # of a version: two of a billion versions are the same once in 40 such lives
_MAPPED = 16  # tables that a worker keeps open


@dataclass(frozen=True)
class ShippedTable:
    """A table that every executor has."""

    version: str
    path: str  # what all executors call it; or only its name, if Spark gives it to them
    is_given: bool
    with_filters: bool  # beside it lies a table of its single filters
    size: int  # bytes of its file

    def open(self) -> OpenTable:
        """Return the table, mapped; to be called where a task runs."""
        return _opened(SparkFiles.get(self.path) if self.is_given else self.path, self._filters())

    def _filters(self) -> str | None:
        if not self.with_filters:
            return None
        path = str(_by_filter(Path(self.path)))
        return SparkFiles.get(path) if self.is_given else path


def ship_tables(spark: SparkSession, tables: AnyTable | Sequence[AnyTable], *, filters: bool) -> list[ShippedTable]:
    """Give tables to all executors of a session; with `filters`, also what tells which of them match."""
    listed = [tables] if isinstance(tables, Table | str | Path) else [*tables]
    if not listed:
        raise InputError("there is no table to match with", hint="give one, or several")
    return [_ship(spark, keep_table(table, process_folder()), filters) for table in listed]


def keep_table(table: AnyTable, folder: Path) -> Path:
    """Put a table into a folder, under the name of its version; check every byte of it."""
    if isinstance(table, Path) and table.parent == folder and table.name.startswith("cbnet-"):
        return table  # it has been put there before
    draft = folder / f"draft-{os.getpid()}.cbt"
    draft.unlink(missing_ok=True)
    if isinstance(table, Table):
        table.save(draft)
    else:
        _copy(Path(table), draft)
    kept = folder / f"cbnet-{version_of(draft)}.cbt"
    try:
        if kept.exists():
            return kept
        if not isinstance(table, Table):
            _verify(draft, Path(table))
        draft.rename(kept)
    finally:
        draft.unlink(missing_ok=True)
    return kept


def _copy(source: Path, target: Path) -> None:
    """Link a file if the file system can, as `cbnet compile` writes a new file and never into one; else copy it."""
    if not source.is_file():
        raise InputError("there is no such table", hint="make one with `cbnet compile`", file=str(source))
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copyfile(source, target)


def _verify(draft: Path, named: Path) -> None:
    try:
        CompiledTable.open(draft, verify=True)
    except InputError as error:
        raise error.at(file=str(named)) from None


def version_of(path: Path) -> str:
    """Return the version of a table file: a part of the hash of its bytes, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]


def version_of_all(tables: Sequence[ShippedTable]) -> str:
    """Return the version of several tables together; that of one is its own."""
    versions = [table.version for table in tables]
    return versions[0] if len(versions) == 1 else hashlib.sha256(" ".join(versions).encode()).hexdigest()[:_DIGITS]


def _ship(spark: SparkSession, kept: Path, filters: bool) -> ShippedTable:
    files = [kept, *([_filter_table(kept)] if filters else [])]
    is_local = bool(spark.sparkContext._jsc.sc().isLocal())  # then there are no other hosts
    if not is_local:
        for file in files:
            ship_file(spark, file)
    version = kept.stem.removeprefix("cbnet-")
    return ShippedTable(version, str(kept) if is_local else kept.name, not is_local, filters, kept.stat().st_size)


def _by_filter(path: Path) -> Path:
    return path.with_suffix(".filters.cbt")


def _filter_table(kept: Path) -> Path:
    """Compile a table in which every filter is an interface of its own; return its file."""
    path = _by_filter(kept)
    if not path.exists():
        compiled = CompiledTable.open(kept)
        if compiled.engine == "bloom":
            hint = "compile the table for the engine tags"
            raise InputError("a Bloom table does not know which of its filters match", hint=hint)
        columns = compiled.columns
        count = len(columns)
        apart = replace(columns, interfaces=range(count), targets=np.arange(count, dtype=np.uint32))
        CompiledTable.build(apart, compiled.engine, reduce=False, labelled=False).save(path)
    return path


class OpenTable:
    """A mapped table, with its interfaces as an Arrow array; and its single filters, if they are asked for."""

    def __init__(self, path: str, filters: str | None) -> None:
        self.compiled = CompiledTable.open(Path(path))
        self.matcher = self.compiled if filters is None else CompiledTable.open(Path(filters))
        self._texts: dict[int, str] = {}

    @cached_property
    def labels(self) -> pa.Array:
        """The interfaces: int64, or strings if any is one."""
        arrays = self.compiled.arrays
        if len(arrays["label_ints"]) == self.compiled.metadata["interfaces"]:
            return pa.array(arrays["label_ints"])
        if not len(arrays["label_ints"]):
            strings = Texts(arrays["label_data"], arrays["label_offsets"])
            return strings.as_arrow(np.arange(len(strings))).cast(pa.binary()).cast(pa.string())
        return pa.array([str(label) for label in self.compiled.labels], pa.string())

    def interfaces(self, targets: Any) -> pa.Array:
        """Return the interface of each target that the matcher found."""
        places = targets if self.matcher is self.compiled else self.compiled.columns.targets[targets]
        return self.labels.take(pa.array(places))

    def filters(self, targets: Any) -> pa.Array:
        """Return the text of each filter that the matcher found."""
        places = targets.tolist()
        for place in {*places} - self._texts.keys():
            self._texts[place] = str(self.compiled.columns.filter(place))
        return pa.array([self._texts[place] for place in places], pa.string())


@lru_cache(maxsize=_MAPPED)
def _opened(path: str, filters: str | None) -> OpenTable:
    return OpenTable(path, filters)
