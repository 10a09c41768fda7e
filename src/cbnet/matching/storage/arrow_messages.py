"""Arrow messages: from a record batch to encoded messages, without an object per value.

A column per attribute, null where it is absent, and a list-of-strings column "#" for the tags. A
name whose values have several types has one column for each, with the same name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet._kernels.message_encoding import Batch, Symbols, fill_from_columns
from cbnet.errors import InputError
from cbnet.language.values import RESERVED_NAME


def encode_batch(batch: pa.RecordBatch, symbols: Symbols) -> tuple[Batch, Any]:
    """Return the messages of a batch, encoded, and what must be kept alive as long as they are read."""
    kept: list[Any] = []
    columns = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if field.name == RESERVED_NAME:
            columns.append(_tags(column, symbols, kept))
        elif (symbol := symbols.symbol(field.name, False)) >= 0:
            columns.append((symbol, *_values(field.name, column, kept)))
        else:
            _kind(field.name, column.type)  # refused by its type, whether a filter asks for it or not
    encoded = Batch()
    fill_from_columns(encoded, batch.num_rows, columns)
    return encoded, kept


def _kind(name: str, type: pa.DataType) -> str:
    """Return how the kernel reads a column: bits, ints, floats or strings."""
    if pa.types.is_dictionary(type):
        return _kind(name, type.value_type)
    for kind, is_kind in (
        ("b", pa.types.is_boolean), ("i", pa.types.is_integer), ("d", pa.types.is_floating),
        ("s", pa.types.is_string), ("s", pa.types.is_large_string), ("n", pa.types.is_null),
    ):  # fmt: skip
        if is_kind(type):
            return kind
    raise InputError(f"column {name!r}: {type} is not a type of values", hint="cast it to string, int, float or bool")


_READ_AS = {"b": pa.bool_(), "i": pa.int64(), "d": pa.float64(), "s": pa.string(), "n": pa.int64()}


def _values(name: str, column: pa.Array, kept: list[Any]) -> tuple[str, int, int, int, int]:
    kind = _kind(name, column.type)
    try:
        column = column.cast(_READ_AS[kind])
    except pa.ArrowInvalid as error:
        raise InputError(
            f"column {name!r}: {error}", hint="use 64-bit ints, and less than 2 GB of text a batch"
        ) from None
    if kind == "d":
        _check_finite(name, column)
    kept.append(column)
    buffers = column.buffers()
    text = _address(buffers[2]) if kind == "s" else 0
    return "i" if kind == "n" else kind, _address(buffers[0]), _address(buffers[1]), text, column.offset


def _check_finite(name: str, column: pa.Array) -> None:
    finite = pc.is_finite(column).fill_null(True)
    if not pc.all(finite).as_py() and len(column):
        row = pc.index(finite, False).as_py() + 1
        raise InputError(f"row {row}, column {name!r}: NaN and infinity are not values", hint="use null for absent")


def _tags(column: pa.Array, symbols: Symbols, kept: list[Any]) -> tuple[int, str, int, int, int, int]:
    try:
        column = column.cast(pa.list_(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f'column "#": {column.type} is not a list of strings', hint="give the tags as one") from None
    tags = column.values.dictionary_encode()
    known = np.array([-1 if tag is None else symbols.symbol(tag, True) for tag in tags.dictionary.to_pylist()] + [-1])
    of_each = known[np.asarray(tags.indices.fill_null(len(known) - 1))].astype(np.int64)
    kept += [column, of_each]
    valid, offsets = column.buffers()[:2]
    return 0, "t", _address(valid), _address(offsets), of_each.ctypes.data, column.offset


def _address(buffer: Any) -> int:
    return 0 if buffer is None else buffer.address
