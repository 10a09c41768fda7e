"""Files of results, and destinations of matched messages: one file, or a folder with a file for each rule.

A file of Parquet, CSV, Arrow or JSON Lines is written in parts. It has a temporary name until it is complete. Rows wait
in memory until they are worth a part of the file, such as a row group of Parquet.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from cbnet.errors import InputError, LimitError
from cbnet.files import unreadable, unwritable
from cbnet.matching.files.file_matching import MatchedMessages, Rows, RuleNames, by_rule
from cbnet.matching.files.line_columns import LineColumns, batch_of_lines
from cbnet.matching.rule import RuleName
from cbnet.matching.storage.arrow_values import plain_values

_PART_ROWS, _PART_BYTES = 131_072, 64 << 20
_as_json = msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode
_MAX_WRITERS = 500  # files that are open at the same time
_MAX_WAITING = 256 << 20  # bytes of all files of a folder together
_SAFE = " !#$&'()+,;=@[]{}~"  # characters of names that file names keep, beside letters, digits and _.-


def open_output(path: Path, *, is_columnar: bool) -> OutputFile:
    """Begin a file whose format follows from its suffix; is_columnar: its rows will be record batches."""
    if path.suffix not in _FORMATS:
        *others, last = _FORMATS
        hint = f"use {', '.join(others)} or {last}"
        raise InputError(f"unknown file type {path.suffix!r}", hint=hint, file=str(path))
    file = _FORMATS[path.suffix](path)
    if is_columnar:
        return file
    file = file if isinstance(file, JsonLinesOutput) else LinesOutput(path, file)
    file.write([])  # there may be no lines
    return file


class OutputFile(ABC):
    """A file that is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_waiting = 0
        self._temporary = path.with_name(f".{path.name}.{os.getpid()}")
        self._waiting: list[Rows] = []
        self._rows_waiting = 0

    def write(self, rows: Rows) -> None:
        """Add rows; they are written when there are enough for a part."""
        self._waiting.append(rows)
        self._rows_waiting += len(rows)
        self.bytes_waiting += rows.nbytes if isinstance(rows, pa.RecordBatch) else sum(map(len, rows))
        if self._rows_waiting >= _PART_ROWS or self.bytes_waiting >= _PART_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._waiting:
            try:
                self._write(self._waiting)
            except OSError as error:
                raise unwritable(self.path, error) from None
        self._waiting, self._rows_waiting, self.bytes_waiting = [], 0, 0

    def finish(self) -> None:
        """Write all rows, and give the file its name."""
        self.flush()
        try:
            self._close()
            self._temporary.replace(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from None

    def abandon(self) -> None:
        """Remove the file."""
        self._waiting = []
        self._close()
        self._temporary.unlink(missing_ok=True)

    @abstractmethod
    def _write(self, parts: list[Any]) -> None: ...

    def _close(self) -> None:
        return


class WriterOutput(OutputFile):
    """A file whose writer stays open; `open_writer` opens one, for a path and a schema."""

    _writer: Any = None

    def __init__(self, path: Path, open_writer: Callable[[str, pa.Schema], Any]) -> None:
        super().__init__(path)
        self._open = open_writer

    def _write(self, parts: list[pa.RecordBatch]) -> None:
        if self._writer is None:
            self._writer = self._open(str(self._temporary), parts[0].schema)
        self._writer.write_table(pa.Table.from_batches(parts))

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _TextOutput(OutputFile):
    """A file that is open only while a part is written, so that there may be thousands."""

    _is_begun = False

    def _write(self, parts: list[Any]) -> None:
        with pa.OSFile(str(self._temporary), "ab" if self._is_begun else "wb") as file:
            for part in parts:
                self._append(file, part)
                self._is_begun = True

    @abstractmethod
    def _append(self, file: pa.OSFile, part: Any) -> None: ...


class CsvOutput(_TextOutput):
    """A CSV file; lists and structs are JSON texts."""

    def _append(self, file: pa.OSFile, part: pa.RecordBatch) -> None:
        columns = [_json_texts(column) if pa.types.is_nested(column.type) else column for column in part.columns]
        rows = pa.RecordBatch.from_arrays(columns, part.schema.names)
        with pa.csv.CSVWriter(
            file, rows.schema, write_options=pa.csv.WriteOptions(include_header=not self._is_begun)
        ) as writer:
            writer.write(rows)


class JsonLinesOutput(_TextOutput):
    """A file of JSON Lines; null cells of a record batch are left out."""

    def _append(self, file: pa.OSFile, part: Rows) -> None:
        lines = json_lines(part) if isinstance(part, pa.RecordBatch) else part
        file.write(b"\n".join([*lines, b""]))


class LinesOutput(OutputFile):
    """A file of columns whose rows are lines: these wait in a file, since all of them determine the columns."""

    def __init__(self, path: Path, file: OutputFile) -> None:
        super().__init__(path)
        self._file = file
        self._lines = JsonLinesOutput(path.with_name(f".{path.name}.{os.getpid()}.jsonl"))
        self._columns = LineColumns()

    def _write(self, parts: list[list[bytes]]) -> None:
        for lines in parts:
            for line in lines:
                self._columns.add(msgspec.json.decode(line))
            self._lines.write(lines)

    def finish(self) -> None:
        """Write the columns of all lines."""
        self.flush()
        self._lines.finish()
        schema = self._columns.schema
        self._file.write(batch_of_lines([], schema))
        try:
            with self._lines.path.open("rb") as waiting:
                while lines := waiting.readlines(_PART_BYTES):
                    self._file.write(batch_of_lines(lines, schema))
        except OSError as error:
            raise unreadable(self._lines.path, error) from None
        self._lines.path.unlink()
        self._file.finish()

    def abandon(self) -> None:
        """Remove the files."""
        for file in (self._file, self._lines):
            file.abandon()
        self._lines.path.unlink(missing_ok=True)


def json_lines(rows: pa.RecordBatch) -> list[bytes]:
    """Return rows as JSON objects without their nulls."""
    columns = [
        plain_values(column).arrays[0]
        if pa.types.is_timestamp(column.type) and column.null_count < len(column)
        else column
        for column in rows.columns
    ]
    names, cells = rows.schema.names, [column.to_pylist(maps_as_pydicts="lossy") for column in columns]
    return [
        _as_json({name: cell for name, cell in zip(names, row, strict=True) if cell is not None})
        for row in (zip(*cells, strict=True) if cells else [()] * len(rows))
    ]


def _json_texts(column: pa.Array) -> pa.Array:
    cells = column.to_pylist(maps_as_pydicts="lossy")
    return pa.array([None if cell is None else _as_json(cell).decode() for cell in cells], pa.string())


_FORMATS: dict[str, Callable[[Path], OutputFile]] = {
    ".parquet": lambda path: WriterOutput(path, pyarrow.parquet.ParquetWriter),  # a part is a row group
    ".csv": CsvOutput,
    ".arrow": lambda path: WriterOutput(path, pa.ipc.new_file),
    ".arrows": lambda path: WriterOutput(path, pa.ipc.new_stream),
    ".jsonl": JsonLinesOutput,
}


class MatchSink(ABC):
    """A destination of matched messages."""

    _files: dict[int, OutputFile]

    @abstractmethod
    def write(self, matched: MatchedMessages) -> None:
        """Write the rows of some messages."""

    def finish(self) -> None:
        """Complete the files."""
        for file in self._files.values():
            file.finish()

    def abandon(self) -> None:
        """Remove the files."""
        for file in self._files.values():
            file.abandon()


class FileSink(MatchSink):
    """One file, with the rows that a form of results has."""

    def __init__(self, file: OutputFile, form: Callable[[MatchedMessages], Rows]) -> None:
        self._files = {0: file}
        self._form = form

    def write(self, matched: MatchedMessages) -> None:
        """Write the rows of the form."""
        self._files[0].write(self._form(matched))


class FolderSink(MatchSink):
    """A folder with a file for each rule that matched: the messages themselves."""

    def __init__(self, folder: Path, suffix: str, names: RuleNames) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise InputError("the folder is not empty", hint="choose another one", file=str(folder))
        except OSError as error:
            raise unwritable(folder, error) from None
        self._folder = folder
        self._suffix = suffix
        self._names = list(_file_names(names.labels))  # of targets
        self._files = {}

    def write(self, matched: MatchedMessages) -> None:
        """Write each message to the files of its rules."""
        for target, rows in by_rule(matched):
            self._file(target, is_columnar=not isinstance(rows, list)).write(rows)
        if sum(file.bytes_waiting for file in self._files.values()) > _MAX_WAITING:
            for file in self._files.values():
                file.flush()

    def _file(self, target: int, *, is_columnar: bool) -> OutputFile:
        if target not in self._files:
            file = open_output(self._folder / f"{self._names[target]}{self._suffix}", is_columnar=is_columnar)
            if isinstance(file, WriterOutput) and len(self._files) == _MAX_WRITERS:
                hint = "use CSV or JSON Lines, or write one row per match with --rows"
                raise LimitError(f"{self._suffix} files", len(self._files) + 1, _MAX_WRITERS, hint=hint)
            self._files[target] = file
        return self._files[target]


def _file_names(labels: Iterable[RuleName]) -> Iterator[str]:
    """Yield a name for each rule; the second of those that differ only in type or in case ends with `%-2`."""
    seen: Counter[str] = Counter()  # some file systems ignore the case
    for label in labels:
        name = quote(str(label), safe=_SAFE) or "%"
        seen[name.lower()] += 1
        number = seen[name.lower()]
        yield name if number == 1 else f"{name}%-{number}"  # no quoted name contains %-
