"""Told rows: how do rows that a command printed, or a stage wrote, become a section of a page?

Rows of `cbnet simulate`, `cbnet bench` and `cbnet pipeline` are known by their members, and drawn. Any others are shown
as a table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from cbnet.lab.report.chart import Chart
from cbnet.lab.report.page import Cell, Grid, Section

Row: TypeAlias = dict[str, Any]
Charts: TypeAlias = Callable[[str, Sequence[Row]], list[Chart]]

_MOST_ROWS = 500
_MOST_BARS = 12  # interfaces


@dataclass(frozen=True)
class _Kind:
    heading: str
    members: frozenset[str]  # by which it is known
    charts: Charts


def rows_section(name: str, rows: Sequence[Row]) -> Section:
    """Return a section about rows, with charts if they are known; name: where they are from, different for each."""
    kind = next((kind for kind in _KINDS if rows and kind.members <= set(rows[0])), None)
    anchor = "".join(char if char.isalnum() else "-" for char in name)
    known = [row for row in rows if kind is not None and kind.members <= set(row)]
    text = [] if len(rows) <= _MOST_ROWS else [f"The first {_MOST_ROWS:,} of {len(rows):,} rows."]
    return Section(
        name if kind is None else f"{kind.heading}: {name}",
        anchor,
        text,
        [_grid(rows[:_MOST_ROWS])],
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
    """Return a row for each row and column: its keys, the column's name as `what`, and its value."""
    return pa.Table.from_pylist(
        [
            {**{key: row[key] for key in keys}, what: told, value: row[column]}
            for row in rows
            for column, told in columns.items()
            if row.get(column) is not None
        ]
    )


def _simulation(anchor: str, rows: Sequence[Row]) -> list[Chart]:
    state = {"state_bits": "counted", "state_bits_formula": "by the paper's formula"}
    packets = {"packets": "all packets", "spurious": "to nodes that did not want them"}
    return [
        Chart(
            f"{anchor}-packets", "Packets by scheme", _long(rows, ["scheme"], packets, "packets", "which"),
            "scheme", "packets", "bars", series="which", description="Packets of each scheme, and those in vain.",
        ),
        Chart(
            f"{anchor}-state", "State of all routers by scheme", _long(rows, ["scheme"], state, "bits", "which"),
            "scheme", "bits", "bars", series="which", description="Bits that the routers of each scheme hold together.",
        ),
    ]  # fmt: skip


def _engines(anchor: str, rows: Sequence[Row]) -> list[Chart]:
    ways = {"us_single": "one by one", "us_batch": "in batches"}
    told = [{**row, "what": f"{row['engine']}, {row['filters']:,} filters"} for row in rows]
    return [
        Chart(
            f"{anchor}-times", "Time for a message", _long(told, ["what"], ways, "us", "how"),
            "what", "us", "bars", series="how", x_title="engine", y_title="µs",
            description="Microseconds for a message by each engine.",
        )
    ]  # fmt: skip


def _tags(anchor: str, rows: Sequence[Row]) -> list[Chart]:
    ways = {"us_single": "one by one", "us_batch": "in batches"}
    table = pa.Table.from_pylist([{"table": row["table"], "bytes": row["bytes_per_descriptor"]} for row in rows])
    return [
        Chart(
            f"{anchor}-times", "Time for a message", _long(rows, ["table"], ways, "us", "how"),
            "table", "us", "bars", series="how", y_title="µs",
            description="Microseconds for a message by each table of tags.",
        ),
        Chart(
            f"{anchor}-bytes", "Bytes of a descriptor", table, "table", "bytes", "bars",
            description="Bytes that each table needs for a descriptor.",
        ),
    ]  # fmt: skip


def _table1(anchor: str, rows: Sequence[Row]) -> list[Chart]:
    told = [{**row, "which": "all" if row["interface"] is None else str(row["interface"])} for row in rows]
    counts = {"descriptors": "registered", "kept": "kept"}
    return [
        Chart(
            f"{anchor}-kept", "Descriptors registered and kept",
            _long(told[:_MOST_BARS], ["which"], counts, "descriptors", "are"),
            "which", "descriptors", "bars", series="are", x_title="interface",
            description="What is registered behind the interfaces of a router, and what it keeps.",
        )
    ]  # fmt: skip


def _stages(anchor: str, rows: Sequence[Row]) -> list[Chart]:
    table = pa.Table.from_pylist([{"stage": row["stage"], "seconds": float(row["seconds"])} for row in rows])
    return [
        Chart(
            f"{anchor}-seconds", "Time of each stage", table, "stage", "seconds", "bars",
            description="Seconds that each stage took.",
        )
    ]  # fmt: skip


_KINDS = (
    _Kind("Simulation", frozenset({"scheme", "packets", "spurious", "state_bits"}), _simulation),
    _Kind("Engines", frozenset({"engine", "filters", "us_single", "us_batch"}), _engines),
    _Kind("Tables of tags", frozenset({"table", "us_single", "us_batch", "bytes_per_descriptor"}), _tags),
    _Kind("Table 1", frozenset({"router", "interface", "descriptors", "kept"}), _table1),
    _Kind("Stages", frozenset({"stage", "rows", "seconds", "fingerprint"}), _stages),
)
