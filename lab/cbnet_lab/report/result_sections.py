"""Page sections of rows that a command printed with --json.

Rows of `cbnet lab simulate`, `cbnet bench` and `cbnet pipeline` are recognised by their columns and get charts. All
others are shown as a table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from cbnet_lab.report.chart import Chart
from cbnet_lab.report.page import Cell, Grid, Section

Row: TypeAlias = dict[str, Any]
Charts: TypeAlias = Callable[[str, Sequence[Row]], list[Chart]]

_MAX_ROWS = 500
_MAX_BARS = 12  # interfaces


@dataclass(frozen=True)
class _RowKind:
    heading: str
    columns: frozenset[str]  # that identify it
    charts: Charts


def rows_section(name: str, rows: Sequence[Row]) -> Section:
    """Return a section about rows, with charts if their kind is known; name: their source, unique on the page."""
    kind = next((kind for kind in _KINDS if rows and kind.columns <= set(rows[0])), None)
    anchor = "".join(char if char.isalnum() else "-" for char in name)
    known = [row for row in rows if kind is not None and kind.columns <= set(row)]
    text = [] if len(rows) <= _MAX_ROWS else [f"The first {_MAX_ROWS:,} of {len(rows):,} rows."]
    return Section(
        name if kind is None else f"{kind.heading}: {name}",
        anchor,
        text,
        [_grid(rows[:_MAX_ROWS])],
        [] if kind is None else kind.charts(anchor, known),
    )


def _grid(rows: Sequence[Row]) -> Grid:
    heads = list(dict.fromkeys(name for row in rows for name in row))
    return Grid(
        "All rows", [head.replace("_", " ") for head in heads], [[_cell(row.get(h)) for h in heads] for row in rows]
    )


def _cell(value: Any) -> Cell:
    if value is None:
        return Cell("")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, int):
        return Cell(f"{value:,}")
    if isinstance(value, float):
        return Cell(f"{value:.5g}")
    return Cell(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _long(rows: Sequence[Row], keys: Sequence[str], columns: dict[str, str], value: str, what: str) -> pa.Table:
    """Return a row for each row and column: its keys, the label of the column as `what`, and its value."""
    return pa.Table.from_pylist(
        [
            {**{key: row[key] for key in keys}, what: label, value: row[column]}
            for row in rows
            for column, label in columns.items()
            if row.get(column) is not None
        ]
    )


def _simulation(anchor: str, rows: Sequence[Row]) -> list[Chart]:
    state = {"state_bits": "counted", "state_bits_formula": "by the paper's formula"}
    packets = {"packets": "all packets", "spurious": "spurious packets"}
    return [
        Chart(
            f"{anchor}-packets", "Packets by scheme", _long(rows, ["scheme"], packets, "packets", "which"),
            "scheme", "packets", "bars", series="which", description="All packets and spurious packets of each scheme.",
        ),
        Chart(
            f"{anchor}-state", "State of all routers by scheme", _long(rows, ["scheme"], state, "bits", "which"),
            "scheme", "bits", "bars", series="which",
            description="State of all routers in bits, counted and by the formula.",
        ),
    ]  # fmt: skip


def _engines(anchor: str, rows: Sequence[Row]) -> list[Chart]:
    modes = {"us_single": "one by one", "us_batch": "in batches"}
    labelled = [{**row, "what": f"{row['engine']}, {row['filters']:,} filters"} for row in rows]
    return [
        Chart(
            f"{anchor}-times", "Time per message", _long(labelled, ["what"], modes, "us", "how"),
            "what", "us", "bars", series="how", x_title="engine", y_title="µs",
            description="Microseconds per message, by engine.",
        )
    ]  # fmt: skip


def _tags(anchor: str, rows: Sequence[Row]) -> list[Chart]:
    modes = {"us_single": "one by one", "us_batch": "in batches"}
    table = pa.Table.from_pylist([{"table": row["table"], "bytes": row["bytes_per_descriptor"]} for row in rows])
    return [
        Chart(
            f"{anchor}-times", "Time per message", _long(rows, ["table"], modes, "us", "how"),
            "table", "us", "bars", series="how", y_title="µs",
            description="Microseconds per message, by tag table.",
        ),
        Chart(
            f"{anchor}-bytes", "Bytes per descriptor", table, "table", "bytes", "bars",
            description="Bytes per descriptor, by table.",
        ),
    ]  # fmt: skip


def _table1(anchor: str, rows: Sequence[Row]) -> list[Chart]:
    labelled = [{**row, "which": "all" if row["interface"] is None else str(row["interface"])} for row in rows]
    counts = {"descriptors": "registered", "kept": "kept"}
    return [
        Chart(
            f"{anchor}-kept", "Descriptors registered and kept",
            _long(labelled[:_MAX_BARS], ["which"], counts, "descriptors", "are"),
            "which", "descriptors", "bars", series="are", x_title="interface",
            description="Descriptors registered behind the interfaces of a router, and those it keeps.",
        )
    ]  # fmt: skip


_KINDS = (
    _RowKind("Simulation", frozenset({"scheme", "packets", "spurious", "state_bits"}), _simulation),
    _RowKind("Engines", frozenset({"engine", "filters", "us_single", "us_batch"}), _engines),
    _RowKind("Tag tables", frozenset({"table", "us_single", "us_batch", "bytes_per_descriptor"}), _tags),
    _RowKind("Table 1", frozenset({"router", "interface", "descriptors", "kept"}), _table1),
)
