"""Files of messages in columns: Parquet, CSV and Arrow, read in batches of bounded size.

The content decides for Parquet and Arrow files, else the suffix: .parquet, .csv, .arrow and .arrows (a stream). A CSV
file may be compressed. A column of it has the type that is stated; else it is of ints, floats or bools if all its cells
are, else of strings; an empty cell is an absent attribute. So a CSV file is read twice, the first time for the types.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from cbnet.errors import InputError
from cbnet.files import unreadable
from cbnet.matching.files.compressed_files import content_of, content_path
from cbnet.matching.storage.attribute_columns import AttributeColumn, attribute_columns

_ROWS = 65_536  # of a batch
_CSV_BYTES = 4 << 20  # of a batch
_READ_BYTES = 1 << 20  # of a column of a Parquet file
_PARQUET, _ARROW = b"PAR1", b"ARROW1"
# The first one that all cells of a column have, unless one is stated.
_CSV_TYPES = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "string": pa.string()}
_INFERRED = tuple(_CSV_TYPES.values())
OTHERS = "all"  # stands for the columns without a type of their own

Uses = Callable[[pa.Field], bool]


def open_columnar(path: Path, types: Mapping[str, str] | None = None) -> ColumnarFile | None:
    """Open a Parquet, CSV or Arrow file; return None if the file is none of these.

    types: of the columns of a CSV file, by name, and of the others as `all`: int, float, bool or string.
    """
    check_types(types or {})
    if content_path(path).suffix == ".csv":
        return _CsvFile(path, types or {})
    if types:
        raise InputError("only the columns of a CSV file have types to state", file=str(path))
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_ARROW))
    except OSError as error:
        raise unreadable(path, error) from None
    if beginning.startswith(_PARQUET) or (path.suffix == ".parquet" and beginning != _ARROW):
        return _ParquetFile(path)
    if beginning == _ARROW:
        return _ArrowFile(path)
    if path.suffix in (".arrow", ".arrows"):
        return _ArrowStream(path)
    if content_path(path).suffix in (".parquet", ".arrow", ".arrows"):
        raise InputError("a compressed Parquet or Arrow file cannot be read", hint="decompress it", file=str(path))
    return None


def check_types(types: Mapping[str, str]) -> None:
    """Raise an error for an unknown type of a column."""
    for name, type in types.items():
        if type not in _CSV_TYPES:
            raise InputError(f"unknown type {type!r} of the column {name!r}", hint=f"use {', '.join(_CSV_TYPES)}")


def stated_types(types: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the types of the columns that have one, by name."""
    for name in types.keys() - {*names, OTHERS}:
        near = get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"columns: {', '.join(names)}"
        raise InputError(f"no column {name!r}", hint=hint)
    stated = {name: types.get(name, types.get(OTHERS)) for name in names}
    return {name: type for name, type in stated.items() if type is not None}


class ColumnarFile(ABC):
    """An open file of rows. Errors name the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped: dict[int, InputError] = {}  # rows that cannot be read, so far, by their numbers from 1
        with self._naming_errors():
            self._file: Any = pa.OSFile(str(path))
            self.schema = self._open()

    @abstractmethod
    def _open(self) -> pa.Schema:
        """Return the schema."""

    @abstractmethod
    def _batches(self, uses: Uses) -> Iterator[pa.RecordBatch]: ...

    def batches(self, uses: Uses = lambda _: True) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order; columns that are not used may be left out."""
        with self._naming_errors():
            yield from self._batches(uses)

    inferred: Collection[str] = ()  # columns whose type was inferred from their cells

    @property
    def attributes(self) -> list[AttributeColumn]:
        """The attributes of the columns."""
        return attribute_columns(self.schema, self.inferred)

    def has_nulls(self, _: str) -> bool:
        """Return whether a column has a null cell, or may have one."""
        return True

    def numbers(self, first: int, count: int) -> Sequence[int]:
        """Return the numbers, from 1, of rows that were read: the first is that after `first` others."""
        return range(first + 1, first + count + 1)

    @property
    def size(self) -> int:
        """The value of `position` at the end."""
        return self.path.stat().st_size

    @property
    def position(self) -> int:
        """How much has been read."""
        return self.size if self._file.closed else int(self._file.tell())  # the end of compressed content closes it

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except pa.ArrowException as error:
            raise InputError(f"cannot read: {error}", file=str(self.path)) from None
        except InputError as error:
            raise error.at(file=str(self.path)) from None
        except OSError as error:
            raise unreadable(self.path, error) from None


class _ParquetFile(ColumnarFile):
    def _open(self) -> pa.Schema:
        # Without `pre_buffer`, a row group is read piece by piece.
        try:
            self._reader = pyarrow.parquet.ParquetFile(self._file, buffer_size=_READ_BYTES, pre_buffer=False)
        except pa.ArrowInvalid as error:
            raise InputError(f"not a Parquet file: {error}") from None
        self._rows = 0
        return self._reader.schema_arrow

    def _batches(self, uses: Uses) -> Iterator[pa.RecordBatch]:
        chosen = [field.name for field in self.schema if uses(field)]
        for batch in self._reader.iter_batches(_ROWS, columns=chosen if len(chosen) < len(self.schema) else None):
            self._rows += batch.num_rows
            yield batch

    def has_nulls(self, name: str) -> bool:
        metadata = self._reader.metadata
        chunks = [
            metadata.row_group(group).column(index)
            for group in range(metadata.num_row_groups)
            for index in range(metadata.num_columns)
            if metadata.schema.column(index).path == name
        ]
        counts = [
            chunk.statistics.null_count for chunk in chunks if chunk.statistics and chunk.statistics.has_null_count
        ]
        return not chunks or len(counts) < len(chunks) or any(counts)

    @property
    def size(self) -> int:
        return int(self._reader.metadata.num_rows)

    @property
    def position(self) -> int:
        return self._rows


class _ArrowFile(ColumnarFile):
    def _open(self) -> pa.Schema:
        self._file = pa.memory_map(str(self.path))  # a batch may be as large as the file
        self._reader = pa.ipc.open_file(self._file)
        self._next = 0
        return self._reader.schema

    def _batches(self, _: Uses) -> Iterator[pa.RecordBatch]:
        for index in range(self.size):
            self._next = index + 1
            yield self._reader.get_batch(index)

    @property
    def size(self) -> int:
        return int(self._reader.num_record_batches)

    @property
    def position(self) -> int:
        return self._next


class _ArrowStream(ColumnarFile):
    def _open(self) -> pa.Schema:
        self._file = pa.memory_map(str(self.path))
        self._reader = pa.ipc.open_stream(self._file)
        return self._reader.schema

    def _batches(self, _: Uses) -> Iterator[pa.RecordBatch]:
        yield from self._reader


class _CsvFile(ColumnarFile):
    def __init__(self, path: Path, types: Mapping[str, str]) -> None:
        self._given = types
        self._ragged: list[int] = []  # numbers of rows of another number of cells, in order
        super().__init__(path)

    def _open(self) -> pa.Schema:
        _check_utf8(self.path)
        names = self._texts(None).schema.names
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"two columns have the name {repeated!r}", hint="rename one", line=1)
        self._stated = stated_types(self._given, names)
        inferred = dict.fromkeys((name for name in names if name not in self._stated), 0)
        self._full: set[str] = set()  # columns without an empty cell, as far as known
        for number, batch in enumerate(self._texts(names) if inferred else ()):
            full = {name for name in names if not batch.column(name).null_count}
            self._full = self._full & full if number else full
            for name in inferred:
                while _cast(batch.column(name), _INFERRED[inferred[name]]) is None:
                    inferred[name] += 1
        self.skipped.clear()
        self._ragged.clear()
        self.inferred = inferred.keys()
        types = {name: _CSV_TYPES[type] for name, type in self._stated.items()}
        types |= {name: _INFERRED[number] for name, number in inferred.items()}
        return pa.schema([(name, types[name]) for name in names])

    def has_nulls(self, name: str) -> bool:
        return name not in self._full

    def numbers(self, first: int, count: int) -> Sequence[int]:
        rows = super().numbers(first, count)
        if not self.skipped:
            return rows
        read_before = np.array(sorted(self.skipped)) - np.arange(len(self.skipped))  # and one more
        found: list[int] = (np.array(rows) + np.searchsorted(read_before, rows, "right")).tolist()
        return found

    def _batches(self, _: Uses) -> Iterator[pa.RecordBatch]:
        first = 0
        for batch in self._texts(self.schema.names):
            columns = self._columns(batch)
            if any(column is None for column in columns):  # only possible if the type is stated
                columns = self._columns(self._without_misfits(batch, first))
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)
            first += batch.num_rows

    def _columns(self, batch: pa.RecordBatch) -> list[pa.Array | None]:
        return [_cast(column, type) for column, type in zip(batch.columns, self.schema.types, strict=True)]

    def _without_misfits(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """Skip the rows with a cell that is not of its type; first: the number of the first row."""
        misfits: dict[int, pa.Field] = {}
        for field, texts in zip(self.schema, batch.columns, strict=True):
            misfits |= dict.fromkeys(_misfits(texts, field.type), field)
        for row in sorted(misfits):
            self._skip_misfit(first + row, misfits[row], batch.column(misfits[row].name)[row].as_py())
        return batch.take(pa.array([row for row in range(batch.num_rows) if row not in misfits], pa.int64()))

    def _texts(self, names: list[str] | None) -> pa.csv.CSVStreamingReader:
        """Return a new reader of all cells as strings; without names, only for its names."""
        self._file = pa.OSFile(str(self.path))
        convert = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names or (), pa.string()),
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
        )  # fmt: skip
        parse = pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=self._skip)
        read = pa.csv.ReadOptions(block_size=_CSV_BYTES, use_threads=False)  # with threads, rows have no number
        return pa.csv.open_csv(
            content_of(self._file, self.path), read_options=read, parse_options=parse, convert_options=convert
        )

    def _skip(self, row: Any) -> str:
        cells = "1 cell" if row.actual_columns == 1 else f"{row.actual_columns} cells"
        number = row.number - 1  # Arrow counts the header
        problem = f"row {number} has {cells} and not {row.expected_columns}: {row.text[:40]!r}"
        self._leave_out(number, InputError(problem, file=str(self.path)))
        self._ragged.append(number)
        return "skip"

    def _skip_misfit(self, row: int, field: pa.Field, cell: str) -> None:
        """Skip a row, counted from 0 without ragged ones, with a cell that is not of its type."""
        number = row + 1
        for ragged in self._ragged:
            number += ragged <= number
        problem = f"row {number}, column {field.name!r}: {cell[:40]!r} is not of the type {self._stated[field.name]}"
        hint = f"state another one, such as --types {field.name}=string"
        self._leave_out(number, InputError(problem, hint=hint, file=str(self.path)))

    def _leave_out(self, number: int, error: InputError) -> None:
        """Skip a row: not a line, since cells may have several lines, and blank ones are none."""
        self.skipped[number] = error


def _check_utf8(path: Path) -> None:
    """Refuse a file that is not UTF-8: Arrow reports only some of its errors."""
    decoder, line = getincrementaldecoder("utf-8")(), 1
    with path.open("rb") as file:
        content = content_of(file, path)
        for chunk in chain(iter(partial(content.read, _CSV_BYTES), b""), [b""]):
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                raise InputError("not UTF-8", hint="save the file as UTF-8", line=line) from None
            line += chunk.count(b"\n")


def _misfits(texts: pa.Array, type: pa.DataType, first: int = 0) -> Iterator[int]:
    """Yield the numbers of the cells that are not of a type, by halves."""
    if _cast(texts, type) is not None:
        return
    if len(texts) == 1:
        yield first
        return
    half = len(texts) // 2
    yield from _misfits(texts[:half], type, first)
    yield from _misfits(texts[half:], type, first + half)


def _cast(column: pa.Array, type: pa.DataType) -> pa.Array | None:
    try:
        return column.cast(type)
    except pa.ArrowInvalid:
        return None
