"""Curves: what do the rows of a sweep say? Medians, ratios with an interval, slopes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Row: TypeAlias = dict[str, Any]

_LOW, _HIGH = 10, 90  # percentiles of what was repeated


@dataclass(frozen=True)
class Interval:
    """The median of what was repeated, with its 10th and 90th percentile."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Return the interval of some values."""
        low, middle, high = np.percentile(values, [_LOW, 50, _HIGH]).tolist()
        return cls(middle, low, high)

    def told(self, form: Callable[[float], str]) -> str:
        """Return it as a text, each number by the same form."""
        return f"{form(self.middle)} ({form(self.low)} to {form(self.high)})"


def as_table(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table."""
    return pa.Table.from_pylist(list(rows))


def where(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def grouped(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by the values of some columns, in the order in which these come."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return dict(groups)


def median(rows: Iterable[Row], value: str = "us") -> float:
    """Return the median of a column."""
    return float(np.median([row[value] for row in rows]))


def medians(rows: Iterable[Row], x: str, value: str = "us") -> dict[Any, float]:
    """Return the median of a column for each value of another, ascending."""
    groups = grouped(rows, x)
    return {key: median(groups[key,], value) for key in sorted(key for (key,) in groups)}


def summary(rows: Iterable[Row], *by: str, value: str = "us") -> pa.Table:
    """Return a row for each group, with the median of a column and its interval in `low` and `high`."""
    told = []
    for key, group in grouped(rows, *by).items():
        interval = Interval.of([row[value] for row in group])
        own = {value: interval.middle, "low": interval.low, "high": interval.high}
        told.append({**dict(zip(by, key, strict=True)), **own})
    return as_table(told)


def ratio(rows: Iterable[Row], over: str, under: str, value: str = "us") -> Interval:
    """Return how much one way takes of another, turn by turn, on one table."""
    turns = grouped(rows, "way", "turn")
    shares = [
        median(group, value) / median(turns[under, turn], value) for (way, turn), group in turns.items() if way == over
    ]
    return Interval.of(shares)


def slope(points: Mapping[float, float]) -> float:
    """Return the exponent of y in x: the slope of a straight line through the points on log-log axes."""
    if len(points) < 2:
        return float("nan")
    return float(np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)[0])


def last_decade(points: Mapping[float, float]) -> dict[float, float]:
    """Return the points whose x is at least a tenth of the largest."""
    return {x: y for x, y in points.items() if 10 * x >= max(points)}


def counted(number: float) -> str:
    """Return a number as people read it: 1,000 or 0.123."""
    return f"{number:,.0f}" if abs(number) >= 100 or number == int(number) else f"{number:.3g}"


def duration(microseconds: float) -> str:
    """Return a time as people read it."""
    if microseconds < 1000:
        return f"{microseconds:.3g} µs"
    return f"{microseconds / 1000:.3g} ms" if microseconds < 1e6 else f"{microseconds / 1e6:.3g} s"
