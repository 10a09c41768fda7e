"""Fields: how is a line cut into the columns that are wanted?

All lines of a batch at once, in Arrow's own loops. A line that cannot be cut is left out, with the reason.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cbnet.pipeline.ingest.source import BLANKS
from cbnet.pipeline.spark.list_columns import Numbers, lengths_of

Mask: TypeAlias = NDArray[np.bool_]

WRONG_COUNT = "another number of fields than the header"
TOO_FEW = "too few fields"
NOT_QUOTED = "wrong quotes"


@dataclass(frozen=True)
class Cut:
    """The wanted columns of some lines, as text; `lines` says which line each row comes from."""

    columns: list[pa.Array]
    lines: Numbers
    bad: dict[int, str] = field(default_factory=dict)  # line -> why it is left out

    def without(self, wrong: Mask, reason: str) -> Cut:
        """Return this cut without the rows that are wrong."""
        if not wrong.any():
            return self
        right = pa.array(~wrong)
        bad = {**self.bad, **dict.fromkeys(self.lines[wrong].tolist(), reason)}
        return Cut([column.filter(right) for column in self.columns], self.lines[~wrong], bad)


@dataclass(frozen=True)
class Layout:
    """How lines are cut: at `separator`, into the columns at `places`, counted from 0, of `width` in all if known."""

    separator: str
    places: Sequence[int]
    width: int | None = None
    quoted: bool = False

    def cut(self, lines: pa.Array) -> Cut:
        """Cut lines of text."""
        if not self.quoted:
            return self._cut_plain(lines, np.arange(len(lines)))
        with_quotes = np.asarray(pc.match_substring(lines, '"'))
        plain = self._cut_plain(lines.filter(pa.array(~with_quotes)), np.flatnonzero(~with_quotes))
        if not with_quotes.any():
            return plain
        return _merged(plain, self._cut_quoted(lines.filter(pa.array(with_quotes)), np.flatnonzero(with_quotes)))

    def _cut_plain(self, lines: pa.Array, numbers: Numbers) -> Cut:
        split = _split_at(lines, self.separator)
        counts = lengths_of(split)
        wrong = counts != self.width if self.width is not None else counts <= max(self.places)
        fields = split.flatten()
        first = np.cumsum(counts) - counts
        columns = [fields.take(pa.array(first[~wrong] + place)) for place in self.places]
        bad = dict.fromkeys(numbers[wrong].tolist(), self._wrong_count)
        return Cut(columns, numbers[~wrong], bad)

    def _cut_quoted(self, lines: pa.Array, numbers: Numbers) -> Cut:
        """Cut lines some fields of which stand in double quotes, where two stand for one."""
        rows: list[list[str]] = []
        kept, bad = [], {}
        for number, line in zip(numbers.tolist(), lines.to_pylist(), strict=True):
            try:
                row = next(csv.reader([line], delimiter=self.separator, strict=True))
            except csv.Error:
                bad[number] = NOT_QUOTED
                continue
            if len(row) != self.width if self.width is not None else len(row) <= max(self.places):
                bad[number] = self._wrong_count
            else:
                kept.append(number)
                rows.append(row)
        columns = [pa.array([row[place] for row in rows], pa.string()) for place in self.places]
        return Cut(columns, np.array(kept, dtype=np.int64), bad)

    @property
    def _wrong_count(self) -> str:
        return WRONG_COUNT if self.width is not None else TOO_FEW


def split_fields(line: str, separator: str, quoted: bool) -> list[str]:
    """Return the fields of one line: of a header."""
    if quoted:
        return next(csv.reader([line], delimiter=separator), [])
    return [*_split_at(pa.array([line]), separator)[0].as_py()]


def _split_at(lines: pa.Array, separator: str) -> pa.Array:
    if separator == BLANKS:
        return pc.utf8_split_whitespace(pc.utf8_trim_whitespace(lines))
    return pc.split_pattern(lines, separator)


def _merged(one: Cut, other: Cut) -> Cut:
    """Return the rows of both in the order of the lines."""
    lines = np.concatenate([one.lines, other.lines])
    order = np.argsort(lines)
    columns = [pa.concat_arrays(pair).take(pa.array(order)) for pair in zip(one.columns, other.columns, strict=True)]
    return Cut(columns, lines[order], {**one.bad, **other.bad})
