"""Messages of files with their rules, one by one, for Python; see `file_matching` for whole parts of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import merge
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa

from cbnet.errors import InputError
from cbnet.matching.column_check import check_columns
from cbnet.matching.compiled_table import CompiledTable
from cbnet.matching.files.columnar_files import check_types, open_columnar
from cbnet.matching.files.compressed_files import expand_patterns
from cbnet.matching.files.file_matching import FileMatcher, MatchedMessages, Rows
from cbnet.matching.files.message_files import json_members
from cbnet.matching.rule import RuleName

Key = TypeVar("Key", bound=RuleName)


@dataclass(frozen=True)
class FileMatch(Generic[Key]):
    """A message of a file and its rules, or its error."""

    file: str
    number: int  # of the line of JSON Lines or the row of columns, from 1
    rules: Sequence[Key] = ()
    error: InputError | None = None  # a message that is not valid has no rules
    _read: Callable[[], dict[str, Any]] = field(default=dict, repr=False, compare=False)

    @property
    def message(self) -> dict[str, Any]:
        """The message as a dict; of columns, without nulls; empty if it is not valid."""
        return self._read()


def match_files(
    compiled: CompiledTable, patterns: Sequence[str], types: Mapping[str, str], *, threads: int, strict: bool
) -> Iterator[FileMatch[Any]]:
    """Yield the messages of files and their rules; of a CSV file, the rows that are skipped come last."""
    check_types(types)
    matcher = FileMatcher(compiled, threads)
    for name in expand_patterns(patterns):
        file = open_columnar(Path(name), types)
        if file is not None:
            report = check_columns([compiled], file.attributes, strict=strict, has_nulls=file.has_nulls)
            report.warn(strict=strict, stacklevel=2)
        for part in matcher.match_file(Path(name), file):
            errors = (FileMatch[Any](name, number, error=part.errors[number]) for number in sorted(part.errors))
            yield from merge(_valid(name, part, compiled.labels), errors, key=attrgetter("number"))
        for number, error in sorted(file.skipped.items()) if file else ():
            yield FileMatch(name, number, error=error)


def _valid(name: str, part: MatchedMessages, labels: Sequence[RuleName]) -> Iterator[FileMatch[Any]]:
    found = [labels[target] for target in part.targets.tolist()]
    for index, (number, (first, end)) in enumerate(zip(part.numbers, pairwise(part.offsets.tolist()), strict=True)):
        if number not in part.errors:
            yield FileMatch(name, number, found[first:end], None, partial(_message, part.rows, index))


def _message(rows: Rows, index: int) -> dict[str, Any]:
    if not isinstance(rows, pa.RecordBatch):
        return json_members(rows[index])
    [row] = rows.slice(index, 1).to_pylist(maps_as_pydicts="lossy")
    return {name: cell for name, cell in row.items() if cell is not None}
