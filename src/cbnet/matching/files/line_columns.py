"""JSON Lines as columns: one for each member, with a type that holds its values in all lines.

| values | column |
|---|---|
| bools, ints, strings | bool, int64, string |
| floats, or ints and floats | float64 |
| objects | struct, with the members of all of them |
| arrays | list, of a type that holds all items |
| of several kinds, or ints beyond 64 bits | string: strings as they are, other values as JSON |
| none | string |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from cbnet.language.values import INT_MAX, INT_MIN

_TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
_as_json = msgspec.json.encode


@dataclass
class LineColumns:
    """The columns of the lines that were added, or the type of their values at one place."""

    kinds: set[type] = field(default_factory=set)  # of the values that are not null
    members: dict[str, LineColumns] = field(default_factory=dict)  # of objects
    items: list[LineColumns] = field(default_factory=list)  # the one of arrays, if there are items

    def add(self, value: Any) -> None:
        """Add a value; that of a line is an object."""
        kind = type(value)
        if value is None:
            return
        self.kinds.add(object if kind is int and not INT_MIN <= value <= INT_MAX else kind)
        if kind is dict:
            for name, member in value.items():
                if name not in self.members:
                    self.members[name] = LineColumns()
                self.members[name].add(member)
        elif kind is list and value:
            self.items = self.items or [LineColumns()]
            for item in value:
                self.items[0].add(item)

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return pa.schema([(name, member.type) for name, member in self.members.items()])

    @property
    def type(self) -> pa.DataType:
        """The type that holds all values."""
        if self.kinds == {int, float}:
            return pa.float64()
        if self.kinds == {list}:
            return pa.list_(self.items[0].type if self.items else pa.string())
        if self.kinds == {dict} and self.members:
            return pa.struct([(name, member.type) for name, member in self.members.items()])
        return _TYPES.get(next(iter(self.kinds)), pa.string()) if len(self.kinds) == 1 else pa.string()


def batch_of_lines(lines: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch:
    """Return lines as rows of the columns of their file."""
    rows = [msgspec.json.decode(line) for line in lines]
    columns = [pa.array([_cell(row.get(each.name), each.type) for row in rows], each.type) for each in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cell(value: Any, type: pa.DataType) -> Any:
    """Return a value as a column of a type takes it."""
    if value is None:
        return None
    if pa.types.is_struct(type):
        return {member.name: _cell(value.get(member.name), member.type) for member in type.fields}
    if pa.types.is_list(type):
        return [_cell(item, type.value_type) for item in value]
    if pa.types.is_string(type):
        return value if isinstance(value, str) else _as_json(value).decode()
    return float(value) if pa.types.is_floating(type) else value
