"""Page sections of rows that a command printed with --json.

Rows of `cbnet lab simulate`, `cbnet bench` and `cbnet pipeline` are recognised by their columns and get charts. All
others are shown as a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from cbnet_lab.report.chart import Chart
from cbnet_lab.report.page import Grid, Section, cell_text

Row: TypeAlias = dict[str, Any]

_MAX_ROWS = 500
_MAX_BARS = 12  # rows of a chart


@dataclass(frozen=True)
class _BarChart:
    """Some columns of rows as bars side by side."""

    name: str
    title: str
    x: str  # the name of a row, such as "{engine}, {filters:,} filters"
    columns: Mapping[str, str]  # with their labels
    y: str
    description: str
    x_title: str = ""
    y_title: str = ""

    def chart(self, anchor: str, rows: Sequence[Row]) -> Chart:
        bars = [
            {"of": self.x.format_map({**row, "interface": row.get("interface") or "all"}), "which": label}
            | {self.y: row[column]}
            for row in rows[:_MAX_BARS]
            for column, label in self.columns.items()
            if row.get(column) is not None
        ]
        series = "which" if len(self.columns) > 1 else None
        return Chart(
            f"{anchor}-{self.name}", self.title, pa.Table.from_pylist(bars), "of", self.y, "bars", series=series,
            x_title=self.x_title, y_title=self.y_title, description=self.description,
        )  # fmt: skip


@dataclass(frozen=True)
class _RowKind:
    heading: str
    columns: frozenset[str]  # that identify it
    charts: tuple[_BarChart, ...]


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
        [] if kind is None else [each.chart(anchor, known) for each in kind.charts],
    )


def _grid(rows: Sequence[Row]) -> Grid:
    heads = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[cell_text(row.get(head)) for head in heads] for row in rows]
    return Grid("All rows", [head.replace("_", " ") for head in heads], cells)


_MODES = {"us_single": "one by one", "us_batch": "in batches"}
_KINDS = (
    _RowKind(
        "Simulation", frozenset({"scheme", "packets", "spurious", "state_bits"}),
        (
            _BarChart(
                "packets", "Packets by scheme", "{scheme}", {"packets": "all packets", "spurious": "spurious packets"},
                "packets", "All packets and spurious packets of each scheme.", "scheme",
            ),
            _BarChart(
                "state", "State of all routers by scheme", "{scheme}",
                {"state_bits": "counted", "state_bits_formula": "by the paper's formula"}, "bits",
                "State of all routers in bits, counted and by the formula.", "scheme",
            ),
        ),
    ),
    _RowKind(
        "Engines", frozenset({"engine", "filters", "us_single", "us_batch"}),
        (
            _BarChart(
                "times", "Time per message", "{engine}, {filters:,} filters", _MODES, "us",
                "Microseconds per message, by engine.", "engine", "µs",
            ),
        ),
    ),
    _RowKind(
        "Tag tables", frozenset({"table", "us_single", "us_batch", "bytes_per_descriptor"}),
        (
            _BarChart(
                "times", "Time per message", "{table}", _MODES, "us", "Microseconds per message, by tag table.",
                "table", "µs",
            ),
            _BarChart(
                "bytes", "Bytes per descriptor", "{table}", {"bytes_per_descriptor": ""}, "bytes",
                "Bytes per descriptor, by table.", "table",
            ),
        ),
    ),
    _RowKind(
        "Table 1", frozenset({"router", "interface", "descriptors", "kept"}),
        (
            _BarChart(
                "kept", "Descriptors registered and kept", "{interface}", {"descriptors": "registered", "kept": "kept"},
                "descriptors", "Descriptors registered behind the interfaces of a router, and those it keeps.",
                "interface",
            ),
        ),
    ),
)  # fmt: skip
