"""Compiled tables on the executors, identified by version.

The *version* of a table is the hash of its file. The file is copied under that name before it is used, so a new table
may replace the original at any time, or be written over it. Spark copies the file to each host, where every Python
worker maps it: one copy in memory per host, outside of Java's heap.
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
from pyspark.sql import SparkSession

from cbnet.errors import InputError
from cbnet.matching import Table
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.file_matching import RULE_COLUMN, RuleNames
from cbnet.matching.files.rule_files import is_compiled
from cbnet.matching.frames import AnyTable
from cbnet.pipeline.spark.filesystem import fetch, needs_session, process_folder, scheme_of
from cbnet.pipeline.spark.session_target import is_connect
from cbnet.pipeline.spark.shipped_data import has_other_hosts, ship_file, shipped_path

_DIGITS = 16  # of a version: a billion versions collide with probability 1/40
_MAX_OPEN = 16  # tables of a worker


@dataclass(frozen=True)
class ShippedTable:
    """A table that every executor has."""

    version: str
    path: str  # in the driver, and in the workers unless Spark ships the file
    is_shipped: bool
    with_filters: bool  # with a table of its single filters beside it
    size: int  # of its file, in bytes

    def open(self) -> OpenTable:
        """Return the table, mapped; to be called in a task."""
        path = shipped_path(Path(self.path).name) if self.is_shipped else self.path
        return _open(path, with_filters=self.with_filters)

    def open_here(self) -> OpenTable:
        """Return the table, mapped; to be called in the driver."""
        return _open(self.path, with_filters=self.with_filters)


def ship_tables(spark: SparkSession, tables: AnyTable | Sequence[AnyTable], *, filters: bool) -> list[ShippedTable]:
    """Send tables to all executors of a session; with `filters`, also tables of their single filters."""
    listed = [tables] if isinstance(tables, Table | str | Path) else [*tables]
    if not listed:
        raise InputError("no table given", hint="give at least one table")
    return [_ship(spark, store_table(_fetched(spark, table), process_folder()), filters) for table in listed]


def _fetched(spark: SparkSession, table: AnyTable) -> AnyTable:
    """Return a table; a URI is replaced by a local file."""
    if not isinstance(table, str) or scheme_of(table) is None:
        return table
    if is_connect(spark) and needs_session(table):
        raise InputError("a client of Spark Connect cannot read this table", hint="give a local file", file=table)
    return fetch(spark, table)


def store_table(table: AnyTable, folder: Path) -> Path:
    """Store a table, or compiled rules, in a folder under the name of its version; verify every byte."""
    if isinstance(table, Path) and table.parent == folder and table.name.startswith("cbnet-"):
        return table  # already stored
    if not isinstance(table, Table) and Path(table).is_file() and not is_compiled(Path(table)):
        table = Table.open(table)
    draft = folder / f"draft-{os.getpid()}.cbt"
    try:
        if isinstance(table, Table):
            table.save(draft)
        else:
            if not Path(table).is_file():
                raise InputError("no such table", hint="give a compiled table or a rule file", file=str(table))
            if (kept := _kept(Path(table), folder)).exists():
                return kept
            shutil.copyfile(table, draft)  # not a link: `cp` to the original would change it
            _verify(draft, Path(table))
        kept = _kept(draft, folder)
        if not kept.exists():
            draft.rename(kept)
    finally:
        draft.unlink(missing_ok=True)
    return kept


def _kept(path: Path, folder: Path) -> Path:
    """Return where a table file is stored under the name of its version."""
    return folder / f"cbnet-{table_version(path)}.cbt"


def _verify(draft: Path, source: Path) -> None:
    try:
        CompiledTable.open(draft, verify=True)
    except InputError as error:
        raise error.at(file=str(source)) from None


def table_version(path: Path) -> str:
    """Return the version of a table file: the first hexadecimal digits of the hash of its bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]


def joint_version(tables: Sequence[ShippedTable]) -> str:
    """Return the joint version of several tables."""
    versions = [table.version for table in tables]
    return versions[0] if len(versions) == 1 else hashlib.sha256(" ".join(versions).encode()).hexdigest()[:_DIGITS]


def _ship(spark: SparkSession, kept: Path, filters: bool) -> ShippedTable:
    files = [kept, *([filter_table(kept)] if filters else [])]
    is_shipped = has_other_hosts(spark)
    for file in files if is_shipped else ():
        ship_file(spark, file)
    return ShippedTable(kept.stem.removeprefix("cbnet-"), str(kept), is_shipped, filters, kept.stat().st_size)


def _by_filter(path: Path) -> Path:
    return path.with_suffix(".filters.cbt")


def filter_table(kept: Path) -> Path:
    """Compile a table in which every filter is a rule; return its file."""
    path = _by_filter(kept)
    if not path.exists():
        compiled = CompiledTable.open(kept)
        if compiled.engine == "bloom":
            hint = "compile the table for the engine tags"
            raise InputError("a Bloom table cannot report matching filters", hint=hint)
        columns = compiled.columns
        count = len(columns)
        single_filters = replace(columns, interfaces=range(count), targets=np.arange(count, dtype=np.uint32))
        CompiledTable.build(single_filters, compiled.engine, reduce=False, labelled=False).save(path)
    return path


class OpenTable:
    """A mapped table and, optionally, one of its single filters."""

    def __init__(self, path: Path, *, with_filters: bool) -> None:
        self.compiled = CompiledTable.open(path)
        self.matcher = CompiledTable.open(_by_filter(path)) if with_filters else self.compiled
        self._texts: dict[int, str] = {}

    @cached_property
    def names(self) -> list[str]:
        """The attributes that filters use."""
        columns = self.compiled.columns
        return [columns.symbols[symbol] for symbol in range(columns.names)]

    @property
    def has_tags(self) -> bool:
        """Whether filters use tags."""
        return self.compiled.symbols.count > self.compiled.symbols.names

    def rules_of(self, targets: Any) -> Any:
        """Return the rule of each target that was matched: the target itself, or that of the filter."""
        return targets if self.matcher is self.compiled else self.compiled.columns.targets[targets]

    def names_of(self, rules: Any) -> pa.Array:
        """Return the name of each rule."""
        return self.compiled.rule_names.take(pa.array(rules))

    def details(self, rules: Any) -> dict[str, pa.Array]:
        """Return the columns `rule_priority` and `rule_metadata` of rules."""
        names = (f"{RULE_COLUMN}_priority", f"{RULE_COLUMN}_metadata")
        return {name: cells.take(pa.array(rules)) for name, cells in zip(names, self._details, strict=True)}

    @cached_property
    def _details(self) -> tuple[pa.Array, pa.Array]:
        return RuleNames(self.compiled).details

    def filters(self, targets: Any) -> pa.Array:
        """Return the text of each matched filter."""
        indexes = targets.tolist()
        for index in {*indexes} - self._texts.keys():
            self._texts[index] = str(self.compiled.columns.filter(index))
        return pa.array([self._texts[index] for index in indexes], pa.string())


@lru_cache(maxsize=_MAX_OPEN)
def _open(path: str, *, with_filters: bool) -> OpenTable:
    return OpenTable(Path(path), with_filters=with_filters)
