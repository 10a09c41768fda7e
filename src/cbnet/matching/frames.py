"""What the modules for the libraries of data frames share: `cbnet.polars`, `cbnet.pandas` and `cbnet.duckdb`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cbnet.errors import InputError
from cbnet.matching.files.file_matching import RULES_COLUMN
from cbnet.matching.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

AnyTable: TypeAlias = Table[Any] | str | Path
RULES = RULES_COLUMN


def opened(table: AnyTable) -> Table[Any]:
    """Return a table, or that of a file."""
    return table if isinstance(table, Table) else Table.open(table)


def match_columns(
    table: AnyTable, frame: Any, names: Collection[Any], column: str, *, threads: int, strict: bool
) -> pa.ChunkedArray:
    """Return the rules of each row of a data frame; names: of its columns, which the new one must not be."""
    if column in names:
        raise InputError(
            f"the frame has a column {column!r} already", hint="choose another name for the rules: column=…"
        )
    return opened(table).match_frame(frame, threads=threads, strict=strict)
