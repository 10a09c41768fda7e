"""Messages in Arrow record batches, encoded for the kernels without an object per value.

A column per attribute, null where a message lacks it, and a list-of-strings column "#" for the tags. Structs, maps
and lists are nested objects and arrays; see `arrow_leaves`. Several columns of one name are several values, so an
attribute whose values have several types has one column per type.

A row is refused if a column that a filter uses holds what is not a value. Columns that no filter uses are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from cbnet._kernels.message_encoding import Batch, Symbols, fill_from_columns
from cbnet.errors import InputError
from cbnet.language.values import RESERVED_NAME
from cbnet.matching.storage.arrow_leaves import LeafReader, Leaves
from cbnet.matching.storage.arrow_values import decoded, is_text, plain_values

Rejected = dict[int, InputError]  # by row, from 0

_HINT = "pass a pyarrow Table or RecordBatch, or a data frame that exports Arrow; for dicts use match_many"
_KINDS = {pa.bool_(): "b", pa.int64(): "i", pa.float64(): "d", pa.string(): "s"}


def record_batches(frame: object) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a record batch, a table, or an object of the Arrow PyCapsule interface, as they come."""
    if isinstance(frame, pa.RecordBatch):
        yield frame
        return
    if not hasattr(frame, "__arrow_c_stream__") and not hasattr(frame, "__arrow_c_array__"):
        raise InputError(f"a {type(frame).__name__} is not Arrow data", hint=_HINT)
    try:
        if hasattr(frame, "__arrow_c_stream__"):
            yield from pa.RecordBatchReader.from_stream(frame)
        else:
            yield pa.record_batch(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"a {type(frame).__name__} cannot be read as Arrow columns: {error}", hint=_HINT) from None


def encode_batch(
    batch: pa.RecordBatch, symbols: Symbols, first_row: int = 0, rejected: Rejected | None = None
) -> tuple[Batch, Any]:
    """Return the encoded messages of a batch, and an object to keep alive as long as they are read.

    first_row: the number of the batch's first row in error messages, from 0.
    rejected: receives the error of each row that is refused; if None, the first error is raised.
    """
    encoder = _Encoder(symbols, first_row, rejected)
    columns = encoder.columns(batch)
    encoded = Batch()
    fill_from_columns(encoded, batch.num_rows, columns)
    return encoded, encoder.kept


@dataclass(frozen=True)
class _Encoder:
    symbols: Symbols
    first_row: int
    rejected: Rejected | None
    kept: list[Any] = field(default_factory=list)

    def columns(self, batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
        """Return all values as the kernel reads them."""
        reader = LeafReader(self.symbols)
        members = [(name, column) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
        attributes = [member for member in members if member[0] != RESERVED_NAME]
        names, columns = zip(*attributes, strict=True) if attributes else ((), ())
        encoded = [found for leaves in reader.read(names, columns, batch.num_rows) for found in self._values(leaves)]
        if self.symbols.count > self.symbols.names:  # some filter has a tag
            encoded += [self._tags(column) for name, column in members if name == RESERVED_NAME]
        return encoded

    def _values(self, leaves: Leaves) -> Iterator[tuple[Any, ...]]:
        if leaves.rows is not None:
            raise InputError(f"column {leaves.path!r}: lists and maps are not supported", hint="flatten the column")
        plain = plain_values(leaves.values)
        if plain.invalid is not None and len(plain.invalid):
            rows = plain.invalid if leaves.rows is None else leaves.rows[plain.invalid]
            self._reject(rows, leaves.path, plain.problem, plain.hint)
        for column in plain.arrays:
            self.kept.append(column)
            buffers = column.buffers()
            text = _address(buffers[2]) if len(buffers) > 2 else 0
            place = _address(buffers[0]), _address(buffers[1]), text, column.offset
            yield leaves.symbol, _KINDS[column.type], *place

    def _tags(self, column: pa.Array) -> tuple[int, str, int, int, int, int]:
        """Return a column of tags as the kernel reads it; a null in a list is no tag."""
        lists = self._tag_lists(decoded(column))
        tags = lists.values.dictionary_encode()
        known = [-1 if tag is None else self.symbols.symbol(tag, True) for tag in tags.dictionary.to_pylist()]
        tag_symbols = np.array([*known, -1])[np.asarray(tags.indices.fill_null(len(known)))].astype(np.int64)
        self.kept.extend((lists, tag_symbols))
        valid, offsets = lists.buffers()[:2]
        return 0, "t", _address(valid), _address(offsets), tag_symbols.ctypes.data, lists.offset

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
            error = InputError(f"row {self.first_row + row + 1}, column {name!r}: {problem}", hint=hint)
            if self.rejected is None:
                raise error
            self.rejected.setdefault(row, error)


def _address(buffer: Any) -> int:
    return 0 if buffer is None else buffer.address
