"""Charts of tables: plain data, rendered as SVG, and their numbers as CSV.

    kind     drawn as
    line     lines with points; each band (low, high) is an area behind its line
    points   points only
    bars     a bar for each row; bars of one x are side by side
    boxes    for each x the first band as a thin line, the second as a box, and y as a mark in it

A chart with a facet is drawn once for each value of that column, on equal scales.

Points of a series within two pixels are drawn as one; the CSV has all.

Values published by others are diamonds, ranges of them a line between two diamonds, and references dashed lines. Their
labels are a key below the chart, never inside it, where they would cover each other and the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    import altair as alt

ChartKind: TypeAlias = Literal["line", "points", "bars", "boxes"]
Spec: TypeAlias = dict[str, Any]
Row: TypeAlias = dict[str, Any]

_DIAMOND = "◆"
_HEIGHT, _WIDTH, _FACET_WIDTH = 300, 620, 320
_SAME = 2  # pixels between points, 7 pixels wide, that are drawn as one


@dataclass(frozen=True)
class PublishedValue:
    """A value, or a range of values, that a paper states for one x."""

    label: str
    x: float | str
    y: float
    y_high: float | None = None  # the upper end of a range
    facet: str | float | None = None  # the facet to draw it in; None: all

    @property
    def ends(self) -> list[float]:
        """The value, or both ends of its range."""
        return [self.y] if self.y_high is None else [self.y, self.y_high]


@dataclass(frozen=True)
class Chart:
    """A chart of some columns of a table."""

    name: str  # the stem of its file names
    title: str
    table: pa.Table
    x: str
    y: str
    kind: ChartKind = "line"
    series: str | None = None  # the column that decides the colour; colours follow the order of the table
    facet: str | None = None
    x_title: str = ""
    y_title: str = ""
    x_log: bool = False
    y_log: bool = False
    bands: tuple[tuple[str, str], ...] = ()  # pairs of columns (low, high), the widest first
    references: tuple[tuple[str, float], ...] = ()  # dashed horizontal lines: label and y
    published: tuple[PublishedValue, ...] = ()
    description: str = ""  # the alternative text

    @property
    def key(self) -> tuple[str, ...]:
        """The lines of the key below the chart: the dashed lines, and the values of the paper."""
        dashed = tuple(f"dashed line: {label}" for label, _ in self.references)
        values = "; ".join(each.label for each in self.published)
        return (*dashed, f"{_DIAMOND} in the paper: {values}") if values else dashed


def svg(chart: Chart) -> str:
    """Return the chart as SVG."""
    import vl_convert

    drawing: str = vl_convert.vegalite_to_svg(vega_lite(chart))
    return drawing


def csv(chart: Chart) -> str:
    """Return the numbers of the chart as CSV: one row for each point, bar or box."""
    from pyarrow.csv import write_csv

    file = pa.BufferOutputStream()
    write_csv(chart.table.select(_columns(chart)), file)
    return str(file.getvalue().to_pybytes(), "utf-8")


def vega_lite(chart: Chart) -> Spec:
    """Return one Vega-Lite chart of all facets, with a title and a fixed width."""
    import altair as alt

    parts = list(_parts(chart))
    title = alt.TitleParams(chart.title, subtitle=list(chart.key))
    if chart.facet is None:
        whole: alt.TopLevelMixin = parts[0][1].properties(width=_WIDTH, height=_HEIGHT, title=title)
    else:
        sized = [part.properties(width=_FACET_WIDTH, height=_HEIGHT * 0.7, title=label) for label, part in parts]
        whole = alt.concat(*sized, columns=2, title=title)
    spec: Spec = whole.configure(background="white").configure_view(stroke=None).configure_legend(columns=3).to_dict()
    return spec


def _parts(chart: Chart) -> Iterator[tuple[str, alt.LayerChart]]:
    from cbnet_lab.report.chart_layers import ChartLayers  # loads Altair

    rows = _rows(chart)
    drawn = _thinned(chart, rows)
    if chart.facet is None:
        yield "", ChartLayers(chart, drawn, rows).layered()
        return
    for value in dict.fromkeys(row[chart.facet] for row in rows):
        part = replace(chart, description=f"{chart.description} {value}".strip())
        own = [row for row in drawn if row[chart.facet] == value]
        yield str(value), ChartLayers(part, own, rows, value).layered()


def _thinned(chart: Chart, rows: list[Row]) -> list[Row]:
    """Return the first of the points in each square of two pixels, for each series and facet; outliers stay."""
    if chart.kind != "points":
        return rows
    columns = _pixels([row[chart.x] for row in rows], _WIDTH if chart.facet is None else _FACET_WIDTH, chart.x_log)
    lines = _pixels([row[chart.y] for row in rows], _HEIGHT, chart.y_log)
    first: dict[tuple[Any, ...], Row] = {}
    for column, line, row in zip(columns, lines, rows, strict=True):
        first.setdefault((column, line, *(row[name] for name in (chart.series, chart.facet) if name is not None)), row)
    return list(first.values())


def _pixels(values: list[Any], length: int, is_log: bool) -> list[Any]:
    """Return the squares of values on an axis; values that are not numbers have their own."""
    if not values or not all(isinstance(value, int | float) for value in values):
        return values
    scaled = [math.log(value) if is_log else value for value in values]
    least, most = min(scaled), max(scaled)
    return [int((value - least) / ((most - least) or 1) * length / _SAME) for value in scaled]


def _rows(chart: Chart) -> list[Row]:
    """Return the rows as JSON values, except rows that a logarithmic axis cannot show."""
    rows = chart.table.select(_columns(chart)).to_pylist()
    for row in rows:
        row |= {key: None for key, value in row.items() if isinstance(value, float) and not math.isfinite(value)}
    logged = [name for name, is_log in ((chart.x, chart.x_log), (chart.y, chart.y_log)) if is_log]
    return [row for row in rows if all(row[name] is not None and row[name] > 0 for name in logged)]


def _columns(chart: Chart) -> list[str]:
    """Return the names of the columns that are drawn."""
    named = [chart.x, chart.y, chart.series, chart.facet, *(name for pair in chart.bands for name in pair)]
    return list(dict.fromkeys(name for name in named if name is not None))
