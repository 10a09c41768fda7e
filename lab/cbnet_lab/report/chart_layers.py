"""The layers of one facet of a chart, as Vega-Lite: marks, references and values published by others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import altair as alt

if TYPE_CHECKING:
    from cbnet_lab.report.chart import Chart

Row: TypeAlias = dict[str, Any]

# Each has a contrast of at least 3 to 1 with white and with near black.
COLOURS = ("#2478c8", "#d06a00", "#1d9068", "#c4458e", "#7f6bd0", "#a87a00", "#d04848", "#5d8294", "#6b8e23", "#9a6b4f")
_DASHED = [4, 3]
_NEUTRAL = "#7a808a"
_MARGIN = 1.15  # factor by which a logarithmic axis extends beyond its values
_MIN_TICKS, _MAX_TICKS = 4, 10
_NUMBER = "abs(datum.value) >= 1000 ? format(datum.value, '.3~s') : format(datum.value, '.3~g')"


class ChartLayers:
    """One facet of a chart, on the scales of all."""

    def __init__(self, chart: Chart, rows: Sequence[Row], all_rows: Sequence[Row], facet: object = None) -> None:
        self._chart = chart
        self._facet = facet
        self._rows = rows
        self._all = all_rows
        # A label for each of very many points would double the size of an image, for no benefit.
        self._point_options: dict[str, Any] = {"aria": False} if chart.kind == "points" else {}

    def layered(self) -> alt.LayerChart:
        """Return the facet, without a size."""
        chart = self._chart
        layers: list[Any] = [*getattr(self, f"_{chart.kind}")(), *self._references(), *self._published()]
        whole: Any = alt.layer(*layers, data=_inline(self._rows), description=chart.description or chart.title)
        layered: alt.LayerChart = whole
        return layered

    def _line(self) -> Iterator[alt.Chart]:
        for number, (low, high) in enumerate(self._chart.bands):
            area = self._base(0.14 + 0.1 * number).mark_area()
            yield area.encode(x=self._x(), **self._between(low, high))
        yield self._base().mark_line(strokeWidth=2).encode(x=self._x(), y=self._y())
        yield from self._points()

    def _points(self) -> Iterator[alt.Chart]:
        points = self._base().mark_point(filled=True, size=45, **self._point_options)
        yield points.encode(x=self._x(), y=self._y(), tooltip=self._tooltip())

    def _bars(self) -> Iterator[alt.Chart]:
        bars = self._base(beside=True).mark_bar()
        yield bars.encode(x=self._x(discrete=True), y=self._y(), tooltip=self._tooltip())

    def _boxes(self) -> Iterator[alt.Chart]:
        (whisker, box), x = self._chart.bands, self._x(discrete=True)
        for mark, pair in (("rule", whisker), ("bar", box)):
            base = self._base(0.5 if mark == "bar" else 1.0, beside=True)
            marked = base.mark_bar() if mark == "bar" else base.mark_rule(strokeWidth=1.5)
            yield marked.encode(x=x, tooltip=self._tooltip(), **self._between(*pair))
        tick = self._base(beside=True).mark_tick(thickness=3)
        yield tick.encode(x=x, y=self._y(), tooltip=self._tooltip())

    def _references(self) -> Iterator[alt.Chart]:
        for name, value in self._chart.references:
            base = alt.Chart(_inline([{"y": value, "name": name}]))
            y = alt.Y("y:Q", scale=self._scale("y"))
            yield base.mark_rule(strokeDash=_DASHED, color=_NEUTRAL).encode(y=y, tooltip="name:N")

    def _published(self) -> Iterator[alt.Chart]:
        """Yield the values of the paper: diamonds, and lines between the ends of ranges."""
        chart = self._chart
        x = self._x(discrete=chart.kind in ("bars", "boxes"))
        own = [each for each in chart.published if each.facet in (None, self._facet)]
        rows = [{chart.x: each.x, "y": y, "name": each.label} for each in own for y in each.ends]
        ranges = [
            {chart.x: each.x, "y": each.y, "y_high": each.y_high, "name": each.label}
            for each in own
            if each.y_high is not None
        ]
        y = alt.Y("y:Q", scale=self._scale("y"))
        if ranges:
            line = alt.Chart(_inline(ranges)).mark_rule(color=_NEUTRAL, strokeWidth=2)
            yield line.encode(x=x, y=y, y2="y_high:Q", tooltip="name:N")
        if rows:
            diamonds = alt.Chart(_inline(rows)).mark_point(shape="diamond", filled=True, size=130, color=_NEUTRAL)
            yield diamonds.encode(x=x, y=y, opacity=alt.value(1), tooltip="name:N")

    def _base(self, opacity: float = 1.0, *, beside: bool = False) -> alt.Chart:
        """Return a chart with the colours of the series; `beside` puts them side by side."""
        series = self._chart.series
        if series is None:
            return alt.Chart().encode(color=alt.value(COLOURS[0]), opacity=alt.value(opacity))
        names = list(dict.fromkeys(row[series] for row in self._all))
        legend = alt.Legend(title=None, orient="bottom", labelLimit=300, symbolOpacity=1)
        scale = alt.Scale(domain=names, range=[COLOURS[number % len(COLOURS)] for number in range(len(names))])
        base = alt.Chart().encode(
            color=alt.Color(f"{series}:N", scale=scale, legend=legend), opacity=alt.value(opacity)
        )
        return base.encode(xOffset=alt.XOffset(f"{series}:N", scale=alt.Scale(domain=names))) if beside else base

    def _between(self, low: str, high: str) -> dict[str, Any]:
        return {"y": self._y(low), "y2": f"{high}:Q"}

    def _x(self, *, discrete: bool = False) -> alt.X:
        chart = self._chart
        is_number = all(isinstance(row[chart.x], int | float) for row in self._all)
        if discrete or not is_number:
            values = list(dict.fromkeys([*(row[chart.x] for row in self._all), *(each.x for each in chart.published)]))
            labels = {"labelExpr": _NUMBER} if is_number else {"labelLimit": 160}
            axis = alt.Axis(title=chart.x_title or chart.x, labelAngle=0 if len(values) < 9 else -40, **labels)
            return alt.X(f"{chart.x}:O", sort=values, scale=alt.Scale(domain=values), axis=axis)
        return alt.X(f"{chart.x}:Q", scale=self._scale("x"), axis=self._axis("x"))

    def _y(self, column: str | None = None) -> alt.Y:
        return alt.Y(f"{column or self._chart.y}:Q", scale=self._scale("y"), axis=self._axis("y"), stack=None)

    def _axis(self, side: Literal["x", "y"]) -> alt.Axis:
        chart = self._chart
        title = (chart.x_title or chart.x) if side == "x" else (chart.y_title or chart.y)
        options: dict[str, Any] = {"values": self._log_ticks(side)} if self._is_log(side) else {"tickCount": 6}
        return alt.Axis(title=title, labelExpr=_NUMBER, **options)

    def _log_ticks(self, side: Literal["x", "y"]) -> list[float]:
        """Return the ticks of a logarithmic axis: powers of ten; where few fit, also their multiples by 2 and 5."""
        values = self._values(side) or [1.0]
        least, most = min(values) / _MARGIN, max(values) * _MARGIN
        first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
        powers = [10.0**power for power in range(first, last + 1, 1 + (last - first) // _MAX_TICKS)]
        inside = [tick for tick in powers if least <= tick <= most]
        if len(inside) >= _MIN_TICKS:
            return inside
        return [step * power for power in powers for step in (1, 2, 5) if least <= step * power <= most]

    def _is_log(self, side: Literal["x", "y"]) -> bool:
        return self._chart.x_log if side == "x" else self._chart.y_log

    def _scale(self, side: Literal["x", "y"]) -> alt.Scale:
        values = self._values(side)
        if not values:
            return alt.Scale()
        least, most = min(values), max(values)
        if self._is_log(side):
            return alt.Scale(type="log", domain=[least / _MARGIN, most * _MARGIN])
        if side == "x":
            return alt.Scale(domain=[least, most], nice=True, zero=False)
        return alt.Scale(domain=[min(0.0, least), most if most > min(0.0, least) else least + 1], nice=True)

    def _values(self, side: Literal["x", "y"]) -> list[float]:
        """Return all values on an axis, over all facets."""
        chart = self._chart
        names = [chart.x] if side == "x" else [chart.y, *(name for pair in chart.bands for name in pair)]
        values = [row[name] for row in self._all for name in names if isinstance(row[name], int | float)]
        values += [value for _, value in chart.references] if side == "y" else []
        for each in chart.published:
            values += each.ends if side == "y" else [each.x] if isinstance(each.x, int | float) else []
        return [value for value in values if value > 0 or not self._is_log(side)]

    def _tooltip(self) -> list[alt.Tooltip]:
        chart = self._chart
        titles = {chart.x: chart.x_title, chart.y: chart.y_title}
        named = [chart.series, chart.x, chart.y, *(name for pair in chart.bands for name in pair)]
        columns = list(dict.fromkeys(name for name in named if name is not None))
        return [self._tooltip_field(name, titles.get(name) or name) for name in columns]

    def _tooltip_field(self, name: str, title: str) -> alt.Tooltip:
        if any(isinstance(row[name], float) for row in self._all):
            return alt.Tooltip(f"{name}:Q", title=title, format=".4~g")
        is_number = all(isinstance(row[name], int) for row in self._all)
        return alt.Tooltip(f"{name}:Q", title=title, format=",") if is_number else alt.Tooltip(f"{name}:N", title=title)


def _inline(rows: Sequence[Row]) -> Any:
    return {"values": list(rows)}
