"""Results of benchmarks: rows for programs and tables for people.

A row is a dataclass: its fields are the members of its JSON object. A table is declared beside the type of its rows, by
the heads of its columns and what stands in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

_DIGITS = 6  # significant digits of a float in JSON
_ABSENT = "–"
HIDDEN = {"json": False}  # metadata of a field that is no JSON member
FLAT = {"is_flat": True}  # metadata of a field whose own fields are JSON members

Row = TypeVar("Row")
Cell = str | Callable[[Row], object]  # the name of an attribute of a row, or a function of the row


@dataclass(frozen=True)
class ResultTable(Generic[Row]):
    """A table for people: a column for each head, the first of which names the row."""

    title: str
    rows: Sequence[Row]
    columns: Mapping[str, Cell[Row]]
    is_list: bool = False  # one row, shown as a list of its columns

    def lines(self) -> Iterator[list[str]]:
        """Yield the cells of each line."""
        cells = [[cell(_value(row, each)) for each in self.columns.values()] for row in self.rows]
        if self.is_list:
            yield from ([head, text] for row in cells for head, text in zip(self.columns, row, strict=True))
        else:
            yield from cells


def _value(row: Row, of: Cell[Row]) -> object:
    return getattr(row, of) if isinstance(of, str) else of(row)


def part(name: str, columns: Mapping[str, Cell[Any]]) -> dict[str, Cell[Any]]:
    """Return the columns of a part of a row, which stands in its field `name`."""
    return {
        head: lambda row, of=of: _value(getattr(row, name), of)  # type: ignore[misc]
        for head, of in columns.items()
    }


def cell(value: object) -> str:
    """Return the text of a cell: a number with three significant digits, or all digits of its whole part."""
    if value is None:
        return _ABSENT
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def ratio(one: float | None, other: float | None) -> float | None:
    """Return the quotient of two measurements; None if one is missing."""
    return None if one is None or not other else one / other


def percent(share: float | None) -> str | None:
    """Return a share in per cent."""
    return None if share is None else f"{share:.0%}"


def members(row: Any) -> dict[str, Any]:
    """Return the members of a row's JSON object."""
    found: dict[str, Any] = {}
    for each in fields(row):
        value = getattr(row, each.name)
        if each.metadata.get("is_flat"):
            found |= members(value)
        elif each.metadata.get("json", True):
            found[each.name] = _json_value(value)
    return found


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if value == value and abs(value) != float("inf") else None
    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value if isinstance(value, str | int | dict | None) else str(value)
