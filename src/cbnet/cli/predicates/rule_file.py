"""Any table: what does a file given as a table hold, a compiled table or predicates?

The content says so, not the name: a compiled table begins with its magic bytes. Any other file is
read as predicates, by its suffix, and compiled; one that is called .cbt and is none gets its error.
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
    from cbnet.matching.compiled_table import Compiled
    from cbnet.matching.storage.columns import Columns

_TEXTS = (".toml", ".jsonl")
_KINDS = (".cbt", *_TEXTS, ".parquet")


@dataclass(frozen=True)
class AnyTable:
    """A compiled table, and the predicates that it was made from where the file has them."""

    compiled: Compiled
    given: Mapping[Interface, Predicate] | None = None

    @cached_property
    def predicates(self) -> Mapping[Interface, Predicate]:
        """The predicate of each interface; read back from the compiled table where none was given."""
        return _decoded(self.compiled.columns) if self.given is None else self.given


def open_any_table(path: Path, *, verify: bool = False) -> AnyTable:
    """Open a compiled table, or compile predicates; `verify` checks every byte of a compiled one."""
    from cbnet.matching.compiled_table import Compiled
    from cbnet.matching.files.predicate_files import read_columns, read_predicates
    from cbnet.matching.storage.columns import columns_of

    if path.suffix == ".cbt" or _is_compiled(path):
        return AnyTable(Compiled.open(path, verify=verify))
    if path.suffix not in _KINDS:
        hint = f"use one of {', '.join(_KINDS)}"
        raise InputError(f"unknown kind of file {path.suffix!r}", hint=hint, file=str(path))
    if path.suffix in _TEXTS:
        given = read_predicates(path)
        return AnyTable(Compiled.build(columns_of(given)), given)
    return AnyTable(Compiled.build(read_columns(path)))


def _is_compiled(path: Path) -> bool:
    """Return whether the file begins as a compiled table does; False if it cannot be read."""
    from cbnet.matching.storage.table_file import MAGIC

    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _decoded(columns: Columns) -> dict[Interface, Predicate]:
    """Return all filters of a table as predicates; one walk, however many interfaces there are."""
    from cbnet.language import Predicate

    filters: list[list[int]] = [[] for _ in columns.interfaces]
    for place, target in enumerate(columns.targets.tolist()):
        filters[target].append(place)
    return {
        interface: Predicate(columns.filter(place) for place in places)
        for interface, places in zip(columns.interfaces, filters, strict=True)
    }
