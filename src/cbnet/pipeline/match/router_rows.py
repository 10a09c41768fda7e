"""Messages of a live network as rows.

A column holds the member of its name: `detail struct<state:string>` and `detail.state string` both read
{"detail": {"state": "on"}} and {"detail.state": "on"}. An array column holds all values of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from cbnet.errors import InputError

PAYLOAD = "payload"


def _ints(bits: int) -> Callable[[Any], int | None]:
    half = 1 << (bits - 1)
    return lambda value: value if type(value) is int and -half <= value < half else None


def _float(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) else None


_CELLS: dict[type[DataType], Callable[[Any], Any]] = {  # None for a value of another type
    StringType: lambda value: value if isinstance(value, str) else None,
    BooleanType: lambda value: value if isinstance(value, bool) else None,
    ByteType: _ints(8), ShortType: _ints(16), IntegerType: _ints(32), LongType: _ints(64),
    FloatType: _float, DoubleType: _float,
}  # fmt: skip


def is_payload(field: StructField) -> bool:
    """Return whether a column holds the payload."""
    return field.name == PAYLOAD and isinstance(field.dataType, BinaryType)


class RowReader:
    """Converts messages to rows, and counts values of another type than their column, which become null."""

    def __init__(self, schema: StructType) -> None:
        for field in schema:
            if not is_payload(field):
                _check_type(field.name, field.dataType)
        self._schema = schema
        self.misfits = 0

    def row(self, message: Mapping[str, Any], payload: bytes) -> tuple[Any, ...]:
        """Return the cells of a message."""
        return tuple(
            payload if is_payload(field) else self._cell(_member(message, field.name), field.dataType)
            for field in self._schema
        )

    def _cell(self, value: Any, type: DataType) -> Any:
        if value is None:
            return None
        if isinstance(type, ArrayType):
            return [self._cell(item, type.elementType) for item in (value if isinstance(value, list) else [value])]
        if isinstance(type, StructType) and isinstance(value, dict):
            return {field.name: self._cell(_member(value, field.name), field.dataType) for field in type}
        if isinstance(type, MapType) and isinstance(value, dict):
            return {key: self._cell(member, type.valueType) for key, member in value.items()}
        convert = _CELLS.get(type.__class__)
        cell = convert and convert(value)
        self.misfits += cell is None
        return cell


def _check_type(name: str, type: DataType) -> None:
    if isinstance(type, StructType):
        for field in type:
            _check_type(f"{name}.{field.name}", field.dataType)
    elif isinstance(type, ArrayType):
        _check_type(name, type.elementType)
    elif isinstance(type, MapType) and isinstance(type.keyType, StringType):
        _check_type(f"{name}.*", type.valueType)
    elif type.__class__ not in _CELLS:
        hint = "use string, boolean, ints, float or double, structs, arrays and maps of them; `payload` may be binary"
        raise InputError(f"column {name!r}: {type.simpleString()} is not a valid type for attributes", hint=hint)


def _member(members: Mapping[str, Any], name: str) -> Any:
    """Return the member of a name, in either spelling of nested names; None if there is none."""
    if name in members:
        return members[name]
    for key, value in members.items():
        if isinstance(value, dict) and name.startswith(f"{key}."):
            return _member(value, name[len(key) + 1 :])
    below = {key[len(name) + 1 :]: value for key, value in members.items() if key.startswith(f"{name}.")}
    return below or None
