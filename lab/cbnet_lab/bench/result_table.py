"""Results of benchmarks: rows for programs and tables for people.

A row is a dataclass: its fields are the members of its JSON object. A part of a row is a dataclass too; its fields are
members of the row, so nothing is copied. A table is declared by the heads of its columns and their values, next to the
type of its rows or in the fields themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Generic, TypeVar

_DIGITS = 6  # significant digits of a float in JSON
_ABSENT = "–"
_PREFIX, _HEAD = "prefix", "head"  # keys of the metadata of a field
HIDDEN = {"json": False}  # metadata of a field that is not a JSON member

Row = TypeVar("Row")
Cell = str | Callable[[Row], object]  # the name of an attribute of a row or of one of its parts, or a function


def flat(prefix: str = "") -> dict[str, str]:
    """Return the metadata of a part: a field whose own fields are JSON members, named with a prefix."""
    return {_PREFIX: prefix}


FLAT = flat()


def shown(head: str, **options: Any) -> Any:
    """Return a field with the head of its column."""
    return field(metadata={_HEAD: head}, **options)


def shown_columns(row: type[Any]) -> dict[str, Cell[Any]]:
    """Return the columns of the fields of a row that have a head."""
    return {each.metadata[_HEAD]: each.name for each in fields(row) if _HEAD in each.metadata}


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
    return _attribute(row, of) if isinstance(of, str) else of(row)


def _attribute(row: Any, name: str) -> object:
    """Return an attribute of a row, or of one of its parts."""
    if isinstance(row, Mapping):
        return row[name]
    if hasattr(row, name):
        return getattr(row, name)
    for each in fields(row):
        prefix = each.metadata.get(_PREFIX)
        if prefix is not None and name.startswith(prefix):
            try:
                return _attribute(getattr(row, each.name), name.removeprefix(prefix))
            except AttributeError:
                continue
    raise AttributeError(f"{type(row).__name__} has no {name}")


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
    """Return a share as a percentage."""
    return None if share is None else f"{share:.0%}"


def members(row: Any) -> dict[str, Any]:
    """Return the members of a row's JSON object."""
    found: dict[str, Any] = {}
    for each in fields(row):
        value = getattr(row, each.name)
        if _PREFIX in each.metadata:
            found |= {each.metadata[_PREFIX] + name: member for name, member in members(value).items()}
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
