"""Rule files: compiled tables, text files and Parquet, opened alike.

The content decides: a compiled table begins with its magic bytes. Any other file is read by its suffix, and compiled;
a file with the suffix .cbt that is not a table is an error. Parquet has one row per constraint; see `arrow_filters`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cbnet.errors import InputError
from cbnet.files import unreadable
from cbnet.language.dialects import CBNET
from cbnet.language.predicate import Predicate
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.text_rules import read_rules
from cbnet.matching.rule import Rule, RuleName
from cbnet.matching.storage.columns import Columns, columns_of
from cbnet.matching.storage.table_file import MAGIC

_TEXT_SUFFIXES = (".toml", ".jsonl")
_SUFFIXES = (*_TEXT_SUFFIXES, ".parquet", ".cbt")


@dataclass(frozen=True)
class RuleFile:
    """A compiled table, and its predicates where the file contains them."""

    compiled: CompiledTable
    written: Mapping[RuleName, Predicate] | None = None

    @cached_property
    def predicates(self) -> Mapping[RuleName, Predicate]:
        """The predicate of each interface, read back from the compiled table if need be."""
        return _read_back(self.compiled.columns) if self.written is None else self.written


def open_rule_file(path: Path, *, verify: bool = False, dialect: str = CBNET) -> RuleFile:
    """Open a compiled table, or compile rules.

    verify: check every byte of a compiled table.
    dialect: of the rules of a text file that names none.
    """
    if is_compiled(path):
        _check_no_dialect(path, dialect, "compiled table")
        return RuleFile(CompiledTable.open(path, verify=verify))
    columns, rules, written = _read_uncompiled(path, dialect)
    return RuleFile(CompiledTable.build(columns, rules=rules), written)


def read_columns(path: Path, *, dialect: str = CBNET) -> tuple[Columns, Sequence[Rule]]:
    """Return the filters of a rule file or compiled table, and its rules that have a priority or metadata."""
    if is_compiled(path):
        _check_no_dialect(path, dialect, "compiled table")
        compiled = CompiledTable.open(path, verify=True)
        return compiled.columns, [*compiled.rules.values()]
    return _read_uncompiled(path, dialect)[:2]


def _read_uncompiled(path: Path, dialect: str) -> tuple[Columns, Sequence[Rule], Mapping[RuleName, Predicate] | None]:
    """Return the filters and rules of a text or Parquet file, and the predicates of a text."""
    if path.suffix in _TEXT_SUFFIXES:
        written = read_rules(path, dialect)
        return columns_of(written.predicates), written.rules, written.predicates
    if path.suffix == ".parquet":
        _check_no_dialect(path, dialect, "Parquet file of rules")
        return _columns_of_parquet(path), [], None
    hint = f"use {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"
    raise InputError(f"unknown file type {path.suffix!r}", hint=hint, file=str(path))


def is_compiled(path: Path) -> bool:
    """Return whether a file is named, or begins, as a compiled table; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            return path.suffix == ".cbt" or file.read(len(MAGIC)) == MAGIC
    except OSError:
        return path.suffix == ".cbt"


def _check_no_dialect(path: Path, dialect: str, kind: str) -> None:
    if dialect != CBNET:
        raise InputError(f"a {kind} has no dialect", hint="leave it out", file=str(path))


def _columns_of_parquet(path: Path) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cbnet.matching.storage.arrow_filters import columns_from_arrow

    try:
        with path.open("rb") as file:
            table = pq.read_table(file, read_dictionary=["rule", "name", "op", "string"])
    except pa.ArrowException as error:
        raise InputError(f"not a Parquet file: {error}", file=str(path)) from None
    except OSError as error:
        raise unreadable(path, error) from None
    try:
        return columns_from_arrow(table)
    except InputError as error:
        raise error.at(file=str(path)) from None


def _read_back(columns: Columns) -> dict[RuleName, Predicate]:
    """Return all filters of a table as predicates, in one pass."""
    filters: list[list[int]] = [[] for _ in columns.interfaces]
    for row, target in enumerate(columns.targets.tolist()):
        filters[target].append(row)
    return {
        name: Predicate(columns.filter(row) for row in rows)
        for name, rows in zip(columns.interfaces, filters, strict=True)
    }
