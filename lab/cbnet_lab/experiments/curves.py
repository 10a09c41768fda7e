"""Statistics of the rows of a sweep: medians, ratios with an interval, slopes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Row: TypeAlias = dict[str, Any]
Metrics: TypeAlias = Mapping[str, Any]  # numbers, texts, rows and lists of rows by name

_LOW, _HIGH = 10, 90  # percentiles of repeated measurements


def interval(values: Sequence[float], middle: str = "middle") -> Row:
    """Return the median of repeated measurements, and their 10th and 90th percentile as `low` and `high`."""
    return dict(zip(("low", middle, "high"), np.percentile(values, [_LOW, 50, _HIGH]).tolist(), strict=True))


def as_table(rows: Iterable[Row]) -> pa.Table:
    """Return rows as a table."""
    return pa.Table.from_pylist(list(rows))


def where(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return the rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def grouped(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by the values of these columns, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return dict(groups)


def median(rows: Iterable[Row], value: str = "us") -> float:
    """Return the median of a column."""
    return float(np.median([row[value] for row in rows]))


def medians(rows: Iterable[Row], x: str, value: str = "us") -> dict[Any, float]:
    """Return the median of a column for each value of column x, ascending."""
    groups = grouped(rows, x)
    return {key: median(groups[key,], value) for key in sorted(key for (key,) in groups)}


def summary(rows: Iterable[Row], *by: str, value: str = "us") -> pa.Table:
    """Return a row for each group: the median of a column, and its interval as `low` and `high`."""
    return as_table(
        dict(zip(by, key, strict=True)) | interval([row[value] for row in group], value)
        for key, group in grouped(rows, *by).items()
    )


def ratio(rows: Iterable[Row], over: str, under: str) -> Row:
    """Return the interval of the ratio of method `over`'s time to method `under`'s, turn by turn, on one table."""
    turns = grouped(rows, "method", "turn")
    return interval(
        [median(own) / median(turns[under, turn]) for (method, turn), own in turns.items() if method == over]
    )


def gain(rows: Iterable[Row], over: str, under: str) -> Row:
    """Return the share of the time of method `under` that method `over` saves: `gain`, `low` and `high`."""
    share = ratio(rows, over, under)
    return {"gain": 1 - share["middle"], "low": 1 - share["high"], "high": 1 - share["low"]}


def slope(points: Mapping[float, float]) -> float:
    """Return the exponent of x in y: the slope of a line fitted to the points on log-log axes."""
    if len(points) < 2:
        return float("nan")
    return float(np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)[0])


def last_decade(points: Mapping[float, float]) -> dict[float, float]:
    """Return the points whose x is at least a tenth of the largest."""
    return {x: y for x, y in points.items() if 10 * x >= max(points)}


def falls_below(points: Mapping[float, float], level: float) -> float | None:
    """Return the x from which y stays below a level, by linear interpolation; None if the last y is not below it."""
    xs = sorted(points)
    last = max((number for number, x in enumerate(xs) if points[x] >= level), default=None)
    if last is None:
        return float(xs[0])
    if last == len(xs) - 1:
        return None
    (before, after), (y_before, y_after) = xs[last : last + 2], (points[x] for x in xs[last : last + 2])
    return before + (after - before) * (y_before - level) / (y_before - y_after)


def end_point(curve: Mapping[float, float], size: float) -> Row:
    """Return the last point of a curve over filters, and its extrapolation to a size, which is at least linear."""
    last = max(curve)
    growth = max(1.0, slope(last_decade(curve)))
    return {"filters": last, "us": curve[last], "growth": growth, "extrapolated": curve[last] * (size / last) ** growth}


def format_number(number: float) -> str:
    """Return a number as text, such as 1,000 or 0.123."""
    return f"{number:,.0f}" if abs(number) >= 100 or number == int(number) else f"{number:.3g}"


def duration(microseconds: float) -> str:
    """Return a duration as text, in µs, ms or s."""
    if microseconds < 1000:
        return f"{microseconds:.3g} µs"
    return f"{microseconds / 1000:.3g} ms" if microseconds < 1e6 else f"{microseconds / 1e6:.3g} s"
