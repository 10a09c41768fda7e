"""Messages in Arrow record batches, encoded for the kernels without an object per value.

A column per attribute, null where a message lacks it, and a list-of-strings column "#" for the tags. Structs, maps
and lists are nested objects and arrays; see `arrow_leaves`. Several columns of one name are several values, so an
attribute whose values have several types has one column per type.

A row is refused if a column that a filter uses holds what is not a value. Columns that no filter uses are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from cbnet._kernels.column_encoding import Columns, add_plain_columns
from cbnet._kernels.dict_encoding import DictEncoder
from cbnet._kernels.message_encoding import Batch
from cbnet._kernels.symbol_table import Symbols
from cbnet.errors import InputError
from cbnet.language.message import Message
from cbnet.language.values import RESERVED_NAME
from cbnet.matching.storage.arrow_leaves import LeafReader, Leaves, holds_objects
from cbnet.matching.storage.arrow_values import decoded, is_text, plain_values
from cbnet.matching.storage.used_leaves import UsedArrays, used_leaves

Rejected = dict[int, InputError]  # by row, from 0

_HINT = "pass a pyarrow Table or RecordBatch, or a data frame that exports Arrow; for dicts use match_many"
_NO_VALUE: Any = object()
_KINDS = {pa.bool_(): "b", pa.int64(): "l", pa.float64(): "g", pa.string(): "u"}


@dataclass(frozen=True)
class FrameRows:
    """The columns of a data frame, and its rows in batches, as they come."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    known: Sequence[pa.RecordBatch] | None  # all rows, if they are in memory
    reader: pa.RecordBatchReader | None = None

    def close(self) -> None:
        """End the query that the rows come from; a connection of DuckDB runs one at a time."""
        if self.reader is not None:
            self.reader.close()

    def has_nulls(self, name: str) -> bool:
        """Return whether a column has a null cell, or may have one; also if there are no rows."""
        if not self.known or not sum(map(len, self.known)):
            return True
        return any(batch.column(index).null_count for batch in self.known for index in _indexes(batch.schema, name))


def _indexes(schema: pa.Schema, name: str) -> list[int]:
    return [index for index, other in enumerate(schema.names) if other == name]


def read_frame(frame: Any) -> FrameRows:
    """Return the rows of a record batch, a table, or an object of the Arrow PyCapsule interface."""
    if isinstance(frame, pa.RecordBatch | pa.Table):  # the interface limits the depth of columns
        batches = [frame] if isinstance(frame, pa.RecordBatch) else frame.to_batches()
        return FrameRows(frame.schema, iter(batches), batches)
    if not hasattr(frame, "__arrow_c_stream__") and not hasattr(frame, "__arrow_c_array__"):
        name = type(frame).__name__
        hint = "call .collect() first" if name == "LazyFrame" else _HINT
        raise InputError(f"{name} is not Arrow data", hint=hint)
    with _naming_errors(frame):
        if not hasattr(frame, "__arrow_c_stream__"):
            return read_frame(pa.record_batch(frame))
        reader = pa.RecordBatchReader.from_stream(frame)
        if type(frame).__name__ == "DuckDBPyRelation":
            reader = _with_json(reader, frame.types)
    batches = _as_they_come(reader, frame)
    first = [*islice(batches, 2)]  # most data frames are one batch
    return FrameRows(reader.schema, chain(first, batches), first if len(first) < 2 else None, reader)


def _as_they_come(reader: pa.RecordBatchReader, frame: object) -> Iterator[pa.RecordBatch]:
    with _naming_errors(frame):
        yield from reader


@contextmanager
def _naming_errors(frame: object) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"{type(frame).__name__} cannot be read as Arrow columns: {error}", hint=_HINT) from None


def _with_json(reader: pa.RecordBatchReader, types: Sequence[Any]) -> pa.RecordBatchReader:
    """Return a reader with a type of DuckDB's JSON, which it passes as strings: texts such as `48` and `"err"`."""
    fields = [field.with_type(_json_type(field.type, of)) for field, of in zip(reader.schema, types, strict=True)]
    return reader if pa.schema(fields) == reader.schema else reader.cast(pa.schema(fields))


def _json_type(type: pa.DataType, of: Any) -> pa.DataType:
    if str(of) == "JSON":
        return pa.opaque(pa.binary(), "JSON", "DuckDB")
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_json_type(field.type, of[field.name])) for field in type])
    if pa.types.is_map(type):
        return pa.map_(type.key_type, _json_type(type.item_type, of.value))
    return pa.list_(_json_type(type.value_type, of.child)) if pa.types.is_list(type) else type


def encode_batch(
    batch: pa.RecordBatch, symbols: Symbols, first_row: int = 0, rejected: Rejected | None = None
) -> tuple[Batch, Any]:
    """Return the encoded messages of a batch, and an object to keep alive as long as they are read.

    first_row: the number of the batch's first row in error messages, from 0.
    rejected: receives the error of each row that is refused; if None, the first error is raised.
    """
    encoder = _Encoder(symbols, first_row, rejected)
    roots = UsedArrays.of(symbols).names
    if any(name.partition(".")[0] in roots for name in batch.schema.names):
        return encoder.rows(batch), None
    columns = encoder.columns(batch)
    encoded = Batch()
    columns.fill(encoded, batch.num_rows, *encoder.reader.elements())
    return encoded, encoder.kept


def messages_of_rows(batch: pa.RecordBatch) -> list[Message | None]:
    """Return the message of each row; None if a value is not valid."""
    try:
        return [_message(row) for row in batch.to_pylist(maps_as_pydicts="lossy")]
    except (ValueError, OverflowError):  # a value that Python cannot hold, such as a year beyond 9999
        if batch.num_rows == 1:
            return [None]
        half = batch.num_rows // 2
        return messages_of_rows(batch.slice(0, half)) + messages_of_rows(batch.slice(half))


def _message(members: dict[str, Any]) -> Message | None:
    try:
        return Message.from_dict(_without_nulls(members))
    except InputError:
        return None


def _without_nulls(value: Any) -> Any:
    """Return members without nulls: a null cell is an absent attribute."""
    if isinstance(value, dict):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    return [_without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def _python_values(column: pa.Array) -> list[Any]:
    """Return the value of each row without nulls; what Python cannot hold, such as a year beyond 9999, is no value."""
    try:
        return [_without_nulls(value) for value in column.to_pylist(maps_as_pydicts="lossy")]
    except (ValueError, OverflowError):
        if len(column) == 1:
            return [_NO_VALUE]
        half = len(column) // 2
        return _python_values(column.slice(0, half)) + _python_values(column.slice(half))


class _Encoder:
    def __init__(self, symbols: Symbols, first_row: int, rejected: Rejected | None) -> None:
        self.reader = LeafReader(symbols)
        self.kept: list[Any] = []
        self._symbols = symbols
        self._first_row = first_row
        self._rejected = rejected

    def columns(self, batch: pa.RecordBatch) -> Columns:
        """Return all values as the kernel reads them."""
        columns, others = self._plain_columns(batch)
        attributes = [(name, column) for name, column in others if name != RESERVED_NAME]
        for leaves in self.reader.read(attributes, batch.num_rows):
            for values in self._plain(leaves):
                columns.add(*self._values(leaves, values))
        if self._symbols.count > self._symbols.names:  # some filter has a tag
            for name, column in others:
                if name == RESERVED_NAME:
                    columns.add(*self._tags(column))
        return columns

    def rows(self, batch: pa.RecordBatch) -> Batch:
        """Return the messages of rows that Python reads: computed attributes depend on their arrays."""
        encoder = DictEncoder(self._symbols)
        fields = [(index, field) for index, field in enumerate(batch.schema) if self._is_read(field)]
        names = [field.name for _, field in fields]
        columns = [_python_values(batch.column(index)) for index, _ in fields]
        for row in range(batch.num_rows):
            members: dict[str, Any] = {}
            for name, column in zip(names, columns, strict=True):
                if column[row] is not None:  # several columns of one name are several values
                    members[name] = [members[name], column[row]] if name in members else column[row]
            try:
                is_added = encoder.add(members) or encoder.add(used_leaves(members, self._symbols))
                error = None if is_added else InputError("the row is not a message")
            except InputError as refused:
                error = refused
            if error is not None:
                self._refuse(row, InputError(f"row {self._first_row + row + 1}, {error.problem}", hint=error.hint))
                encoder.add({})
        return encoder.batch

    def _is_read(self, field: pa.Field) -> bool:
        return field.name == RESERVED_NAME or self.reader.uses(field.name, field.type)

    def _plain_columns(self, batch: pa.RecordBatch) -> tuple[Columns, list[tuple[str, pa.Array]]]:
        """Return the columns that the kernel reads from the batch, and the others.

        Objects and arrays may have to be merged with dotted columns, so beside them the kernel reads none.
        """
        columns, schema = Columns(), batch.schema
        others: Sequence[int] = range(batch.num_columns)
        if _is_sound(batch):
            fields, arrays = batch.__arrow_c_array__()
            left = add_plain_columns(columns, fields, arrays, self._symbols)
            if any(self._uses_objects(schema.field(index)) for index in left):
                columns = Columns()
            else:
                self.kept += (fields, arrays)
                others = left
        return columns, [(schema.field(index).name, batch.column(index)) for index in others]

    def _uses_objects(self, field: pa.Field) -> bool:
        """Return whether a column holds objects or arrays that filters use."""
        return field.name != RESERVED_NAME and holds_objects(field.type) and self.reader.uses(field.name, field.type)

    def _plain(self, leaves: Leaves) -> tuple[pa.Array, ...]:
        plain = plain_values(leaves.values)
        if plain.invalid is not None and len(plain.invalid):
            rows = plain.invalid if leaves.rows is None else leaves.rows[plain.invalid]
            self._reject(rows, leaves.path, plain.problem, plain.hint)
        return plain.arrays

    def _values(self, leaves: Leaves, values: pa.Array) -> tuple[Any, ...]:
        rows = None if leaves.rows is None else np.ascontiguousarray(leaves.rows, np.int64)
        elements = None if leaves.elements is None else np.ascontiguousarray(leaves.elements, np.uint32)
        self.kept.extend((values, rows, elements))
        buffers = values.buffers()
        text = _address(buffers[2]) if len(buffers) > 2 else 0
        places = (0 if array is None else array.ctypes.data for array in (rows, elements))
        return (
            leaves.symbol, _KINDS[values.type], _address(buffers[0]), _address(buffers[1]), text, values.offset,
            len(values), *places,
        )  # fmt: skip

    def _tags(self, column: pa.Array) -> tuple[Any, ...]:
        """Return a column of tags as the kernel reads it; a null in a list is no tag."""
        lists = self._tag_lists(decoded(column))
        plain = plain_values(lists.values)
        if plain.invalid is not None:
            rows = np.searchsorted(lists.offsets, plain.invalid, "right") - 1
            rows = rows[(rows >= 0) & (rows < len(lists))]
            self._reject(rows[np.asarray(lists.is_valid())[rows]], RESERVED_NAME, plain.problem, plain.hint)
        tags = (plain.arrays[0] if plain.arrays else lists.values).dictionary_encode()
        known = [-1 if tag is None else self._symbols.symbol(tag, True) for tag in tags.dictionary.to_pylist()]
        tag_symbols = np.array([*known, -1])[np.asarray(tags.indices.fill_null(len(known)))].astype(np.int64)
        self.kept.extend((lists, tag_symbols))
        valid, offsets = lists.buffers()[:2]
        place = _address(valid), _address(offsets), tag_symbols.ctypes.data, lists.offset, len(lists)
        return 0, "t", *place, 0, 0

    def _tag_lists(self, column: pa.Array) -> pa.ListArray:
        tag = getattr(column.type, "value_type", None)
        tag = tag.value_type if tag is not None and pa.types.is_dictionary(tag) else tag
        if tag is None or not (is_text(tag) or pa.types.is_null(tag)):
            rows = np.flatnonzero(column.is_valid())
            self._reject(rows, RESERVED_NAME, f"{column.type} is not a list of strings", "cast it to one")
            return pa.nulls(len(column), pa.list_(pa.string()))
        return column.cast(pa.list_(pa.string()))

    def _reject(self, rows: Any, name: str, problem: str, hint: str) -> None:
        for row in rows.tolist():
            self._refuse(row, InputError(f"row {self._first_row + row + 1}, column {name!r}: {problem}", hint=hint))

    def _refuse(self, row: int, error: InputError) -> None:
        if self._rejected is None:
            raise error
        self._rejected.setdefault(row, error)


def _is_sound(batch: pa.RecordBatch) -> bool:
    """Return whether the kernel can read a batch: buffers of the right sizes, names without a zero."""
    try:
        batch.validate()
    except pa.ArrowInvalid:
        return False
    return "\0" not in "".join(batch.schema.names)


def _address(buffer: Any) -> int:
    return 0 if buffer is None else buffer.address
