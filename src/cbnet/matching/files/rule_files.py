"""Rule files: compiled tables and predicate files, opened alike.

The content decides: a compiled table begins with its magic bytes. Any other file is read as predicates, by
its suffix, and compiled; a file with the suffix .cbt that is not a table is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.language import Predicate
    from cbnet.matching import Interface
    from cbnet.matching.compiled_table import CompiledTable
    from cbnet.matching.storage.columns import Columns

_TEXT_SUFFIXES = (".toml", ".jsonl")
_SUFFIXES = (".cbt", *_TEXT_SUFFIXES, ".parquet")


@dataclass(frozen=True)
class RuleFile:
    """A compiled table, and its predicates where the file contains them."""

    compiled: CompiledTable
    written: Mapping[Interface, Predicate] | None = None

    @cached_property
    def predicates(self) -> Mapping[Interface, Predicate]:
        """The predicate of each interface, read back from the compiled table if need be."""
        return _read_back(self.compiled.columns) if self.written is None else self.written


def open_rule_file(path: Path, *, verify: bool = False) -> RuleFile:
    """Open a compiled table, or compile predicates; `verify` checks every byte of a compiled table."""
    from cbnet.matching.compiled_table import CompiledTable
    from cbnet.matching.files.predicate_files import read_columns, read_predicates
    from cbnet.matching.storage.columns import columns_of

    if path.suffix == ".cbt" or _is_compiled(path):
        return RuleFile(CompiledTable.open(path, verify=verify))
    if path.suffix not in _SUFFIXES:
        hint = f"use one of {', '.join(_SUFFIXES)}"
        raise InputError(f"unknown file type {path.suffix!r}", hint=hint, file=str(path))
    if path.suffix in _TEXT_SUFFIXES:
        predicates = read_predicates(path)
        return RuleFile(CompiledTable.build(columns_of(predicates)), predicates)
    return RuleFile(CompiledTable.build(read_columns(path)))


def _is_compiled(path: Path) -> bool:
    """Return whether the file begins with the magic bytes; False if it cannot be read."""
    from cbnet.matching.storage.table_file import MAGIC

    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _read_back(columns: Columns) -> dict[Interface, Predicate]:
    """Return all filters of a table as predicates, in one pass."""
    from cbnet.language import Predicate

    filters: list[list[int]] = [[] for _ in columns.interfaces]
    for row, target in enumerate(columns.targets.tolist()):
        filters[target].append(row)
    return {
        interface: Predicate(columns.filter(row) for row in rows)
        for interface, rows in zip(columns.interfaces, filters, strict=True)
    }
