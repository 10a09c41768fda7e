"""Messages in Arrow record batches, encoded for the kernels without an object per value.

A column per attribute, null where a message lacks it, and a list-of-strings column "#" for the tags. An
attribute whose values have several types has one column per type, all with its name; a row sets at most
one of them. Every column is checked, whether a filter uses it or not, so that a batch is refused for the
same values as a dict.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet._kernels.message_encoding import Batch, Symbols, fill_from_columns
from cbnet.errors import InputError
from cbnet.language.values import INT_MAX, INT_MIN, RESERVED_NAME

_HINT = "pass a pyarrow RecordBatch or Table, or a data frame that exports Arrow; for dicts use match_many"


def record_batches(messages: object) -> list[pa.RecordBatch]:
    """Return the batches of a record batch, a table, or an object of the Arrow PyCapsule interface."""
    if isinstance(messages, pa.RecordBatch):
        return [messages]
    try:
        if hasattr(messages, "__arrow_c_stream__"):
            return list(pa.table(messages).to_batches())
        if hasattr(messages, "__arrow_c_array__"):
            return [pa.record_batch(messages)]
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"a {type(messages).__name__} cannot be read as Arrow columns: {error}", hint=_HINT) from None
    raise InputError(f"a {type(messages).__name__} is not Arrow data", hint=_HINT)


def encode_batch(batch: pa.RecordBatch, symbols: Symbols, first_row: int = 0) -> tuple[Batch, Any]:
    """Return the encoded messages of a batch, and an object to keep alive as long as they are read.

    first_row: the number of the batch's first row in error messages, from 0.
    """
    encoder = _Encoder(symbols, first_row)
    encoder.check_duplicates(batch)
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name == RESERVED_NAME:
            columns.append(encoder.tags(column))
        elif (symbol := symbols.symbol(name, False)) >= 0:
            columns.append((symbol, *encoder.values(name, column)))
        elif _kind(name, column.type) in "id":
            encoder.check_numbers(name, _decoded(column))
    encoded = Batch()
    fill_from_columns(encoded, batch.num_rows, columns)
    return encoded, encoder.kept


def _kind(name: str, type: pa.DataType) -> str:
    """Return the kernel's code for a column: bits, ints, floats, strings or nulls."""
    if pa.types.is_dictionary(type):
        return _kind(name, type.value_type)
    for kind, is_kind in (
        ("b", pa.types.is_boolean), ("i", pa.types.is_integer), ("d", pa.types.is_floating),
        ("s", _is_text), ("n", pa.types.is_null),
    ):  # fmt: skip
        if is_kind(type):
            return kind
    raise InputError(
        f"column {name!r}: {type} is not a valid type for values", hint="cast it to string, int, float or bool"
    )


def _is_text(type: pa.DataType) -> bool:
    return type in (pa.string(), pa.large_string(), pa.string_view())


def _is_tags(type: pa.DataType) -> bool:
    if pa.types.is_null(type):
        return True
    tag = getattr(type, "value_type", None)
    tag = tag.value_type if tag is not None and pa.types.is_dictionary(tag) else tag
    return not pa.types.is_dictionary(type) and tag is not None and (_is_text(tag) or pa.types.is_null(tag))


def _decoded(column: pa.Array) -> pa.Array:
    """Return a column without its dictionary."""
    if not pa.types.is_dictionary(column.type):
        return column
    values = column.dictionary
    return (values.cast(pa.string()) if _is_text(values.type) else values).take(column.indices)


_MAX_UNSIGNED = pa.scalar(INT_MAX, pa.uint64())
_READ_AS = {"b": pa.bool_(), "i": pa.int64(), "d": pa.float64(), "s": pa.string(), "n": pa.int64()}


@dataclass(frozen=True)
class _Encoder:
    symbols: Symbols
    first_row: int
    kept: list[Any] = field(default_factory=list)

    def values(self, name: str, column: pa.Array) -> tuple[str, int, int, int, int]:
        """Return a column of attributes as the kernel reads it: code and addresses."""
        kind, column = _kind(name, column.type), _decoded(column)
        self.check_numbers(name, column)
        column = _cast(name, column, _READ_AS[kind])
        self.kept.append(column)
        buffers = column.buffers()
        text = _address(buffers[2]) if kind == "s" else 0
        return "i" if kind == "n" else kind, _address(buffers[0]), _address(buffers[1]), text, column.offset

    def check_numbers(self, name: str, column: pa.Array) -> None:
        """Refuse numbers that no message may hold."""
        if pa.types.is_floating(column.type):
            problem = "NaN and infinity are not values"
            self._check(name, pc.is_finite(column), problem, "use null for an absent attribute")
        elif column.type == pa.uint64():
            problem = f"the integer does not fit in 64 bits ({INT_MIN} to {INT_MAX})"
            self._check(name, pc.less_equal(column, _MAX_UNSIGNED), problem, "cast the column to float64 or string")

    def tags(self, column: pa.Array) -> tuple[int, str, int, int, int, int]:
        """Return the column of tags as the kernel reads it."""
        column = self._tag_lists(column)
        tags = column.values.dictionary_encode()
        known = [-1 if tag is None else self.symbols.symbol(tag, True) for tag in tags.dictionary.to_pylist()]
        tag_symbols = np.array([*known, -1])[np.asarray(tags.indices.fill_null(len(known)))].astype(np.int64)
        self.kept.extend((column, tag_symbols))
        valid, offsets = column.buffers()[:2]
        return 0, "t", _address(valid), _address(offsets), tag_symbols.ctypes.data, column.offset

    def _tag_lists(self, column: pa.Array) -> pa.ListArray:
        if not _is_tags(column.type):
            raise InputError(f'column "#": {column.type} is not a list of strings', hint="cast it to one")
        lists = _cast(RESERVED_NAME, column, pa.list_(pa.string()))
        if lists.values.null_count and lists.flatten().null_count:
            index = pc.index(lists.flatten().is_null(), True).as_py()
            row = pc.list_parent_indices(lists)[index].as_py()
            raise self._error(row, RESERVED_NAME, "a tag is null", "remove it from the list")
        return lists

    def check_duplicates(self, batch: pa.RecordBatch) -> None:
        """Refuse a row that sets two columns of one name; columns of tags are united."""
        columns = defaultdict(list)
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            columns[name].append(column)
        for name, several in columns.items():
            if len(several) > 1 and name != RESERVED_NAME:
                count = sum(column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint32) for column in several)
                problem = "two columns of this name are set"
                self._check(name, pa.array(count <= 1), problem, "set at most one of them per row")

    def _check(self, name: str, is_right: pa.Array, problem: str, hint: str) -> None:
        if is_right.false_count:
            raise self._error(pc.index(is_right, False).as_py(), name, problem, hint)

    def _error(self, row: int, name: str, problem: str, hint: str) -> InputError:
        return InputError(f"row {self.first_row + row + 1}, column {name!r}: {problem}", hint=hint)


def _cast(name: str, column: pa.Array, type: pa.DataType) -> pa.Array:
    try:
        return column.cast(type)
    except pa.ArrowInvalid as error:
        raise InputError(f"column {name!r}: {error}", hint="pass less than 2 GB of text per batch") from None


def _address(buffer: Any) -> int:
    return 0 if buffer is None else buffer.address
