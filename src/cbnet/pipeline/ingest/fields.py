"""Fields of separated lines, split a batch at a time by Arrow, and the result of a parser.

A line that cannot be split is rejected, with a reason.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cbnet.pipeline.ingest.list_columns import Numbers, lengths_of
from cbnet.pipeline.ingest.source import BLANKS

Mask: TypeAlias = NDArray[np.bool_]

WRONG_COUNT = "number of fields differs from the header"
TOO_FEW = "too few fields"
BAD_QUOTES = "unbalanced quotes"


@dataclass(frozen=True)
class ParsedLines:
    """The rows of some lines, and the rejected lines; lines are counted from 0."""

    rows: pa.RecordBatch
    lines: Numbers  # the line of each row, ascending
    rejected: dict[int, str]  # line -> reason; few different reasons, so that they can be counted


Parser: TypeAlias = Callable[[pa.Array], ParsedLines]


@dataclass(frozen=True)
class FieldColumns:
    """Columns of text from some lines, and the rejected lines."""

    columns: list[pa.Array]
    lines: Numbers  # the line of each row
    rejected: dict[int, str] = field(default_factory=dict)  # line -> reason

    def trim(self) -> FieldColumns:
        """Return the columns without white space around the texts."""
        return FieldColumns([pc.utf8_trim_whitespace(column) for column in self.columns], self.lines, self.rejected)

    def reject(self, wrong: Mask, reason: str) -> FieldColumns:
        """Return the columns without the rows that are wrong."""
        if not wrong.any():
            return self
        right = pa.array(~wrong)
        rejected = {**self.rejected, **dict.fromkeys(self.lines[wrong].tolist(), reason)}
        return FieldColumns([column.filter(right) for column in self.columns], self.lines[~wrong], rejected)


@dataclass(frozen=True)
class Layout:
    """The separator of lines, the indexes of the columns to keep, and the number of columns if known."""

    separator: str
    indexes: Sequence[int]
    width: int | None = None
    quoted: bool = False

    def split(self, lines: pa.Array) -> FieldColumns:
        """Split lines into columns."""
        if not self.quoted:
            return self._split_plain(lines, np.arange(len(lines)))
        with_quotes = np.asarray(pc.match_substring(lines, '"'))
        plain = self._split_plain(lines.filter(pa.array(~with_quotes)), np.flatnonzero(~with_quotes))
        if not with_quotes.any():
            return plain
        return _merge(plain, self._split_quoted(lines.filter(pa.array(with_quotes)), np.flatnonzero(with_quotes)))

    def _split_plain(self, lines: pa.Array, numbers: Numbers) -> FieldColumns:
        split = _split_at(lines, self.separator)
        counts = lengths_of(split)
        wrong = counts != self.width if self.width is not None else counts <= max(self.indexes)
        fields = split.flatten()
        first = np.cumsum(counts) - counts
        columns = [fields.take(pa.array(first[~wrong] + index)) for index in self.indexes]
        rejected = dict.fromkeys(numbers[wrong].tolist(), self._wrong_count)
        return FieldColumns(columns, numbers[~wrong], rejected)

    def _split_quoted(self, lines: pa.Array, numbers: Numbers) -> FieldColumns:
        """Split lines with fields in double quotes, in which two quotes are one."""
        rows: list[list[str]] = []
        kept, rejected = [], {}
        for number, line in zip(numbers.tolist(), lines.to_pylist(), strict=True):
            try:
                row = next(csv.reader([line], delimiter=self.separator, strict=True))
            except csv.Error:
                rejected[number] = BAD_QUOTES
                continue
            if len(row) != self.width if self.width is not None else len(row) <= max(self.indexes):
                rejected[number] = self._wrong_count
            else:
                kept.append(number)
                rows.append(row)
        columns = [pa.array([row[index] for row in rows], pa.string()) for index in self.indexes]
        return FieldColumns(columns, np.array(kept, dtype=np.int64), rejected)

    @property
    def _wrong_count(self) -> str:
        return WRONG_COUNT if self.width is not None else TOO_FEW


def split_fields(line: str, separator: str, quoted: bool) -> list[str]:
    """Return the fields of one line, such as a header."""
    if quoted:
        return next(csv.reader([line], delimiter=separator), [])
    return [*_split_at(pa.array([line]), separator)[0].as_py()]


def _split_at(lines: pa.Array, separator: str) -> pa.Array:
    if separator == BLANKS:
        return pc.utf8_split_whitespace(pc.utf8_trim_whitespace(lines))
    return pc.split_pattern(lines, separator)


def _merge(one: FieldColumns, other: FieldColumns) -> FieldColumns:
    """Return the rows of both in the order of the lines."""
    lines = np.concatenate([one.lines, other.lines])
    order = np.argsort(lines)
    columns = [pa.concat_arrays(pair).take(pa.array(order)) for pair in zip(one.columns, other.columns, strict=True)]
    return FieldColumns(columns, lines[order], {**one.rejected, **other.rejected})
