"""Lines: what do the lines of a task say, and how many of them were good?

Spark hands a task one or more *blocks*, parts of files, line by line and in order. A line's own number is known only
inside its block: how many lines stand before the block would need a look at them all. So a task counts from the
block's start, and what needs numbers of the whole file adds those of the blocks before (`readers.first_in_file`).

    file ─┬─ block at byte 0:      lines 0, 1, 2 …   the header, if there is one, is line 0
          └─ block at byte 2²⁷:    lines 0, 1, 2 …
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.pipeline.ingest.fields import Mask
from cbnet.pipeline.ingest.parse_result import Parsed, Parser
from cbnet.pipeline.spark.list_columns import Numbers

NOT_UTF8 = "not UTF-8"
WRONG_HEADER = "another header than the other files"
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


class Block(NamedTuple):
    """A part of a file, named by the byte where it starts."""

    file: str
    start: int


@dataclass(frozen=True)
class Piece:
    """Lines of a block that stand together, at least one; `first` is the number of the first, from 0, in the block."""

    block: Block
    first: int
    lines: pa.Array


@dataclass(frozen=True)
class Tally:
    """How many lines there are, blanks, comments and header left out, how many rows they say, and why some say none."""

    lines: int = 0
    rows: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.lines + other.lines, self.rows + other.rows, self.rejected + other.rejected)

    def __str__(self) -> str:
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in self.rejected.most_common(5))
        rejected = f"{self.rejected.total():,} rejected ({reasons})" if reasons else "none rejected"
        return f"{self.lines:,} lines, {self.rows:,} rows, {rejected}"


@dataclass(frozen=True)
class Reader:
    """How a trace's lines are read; `header` is its first line, where it has one."""

    parse: Parser
    header: str | None = None
    comment: str = ""

    def read(self, piece: Piece) -> tuple[Parsed, Tally]:
        """Return what a piece says, by the numbers of its lines in their block, and its count."""
        lines, wrong = _decoded(piece.lines)
        starts_file = piece.block.start == 0 and piece.first == 0
        lines = _bare(lines, starts_file)
        bad = dict.fromkeys(wrong, NOT_UTF8)
        if starts_file and self.header is not None and lines[0].as_py() != self.header:
            bad[0] = WRONG_HEADER
        content = ~_is_blank(lines, self.comment)
        content[[*bad]] = False
        content[0] &= not (starts_file and self.header is not None)

        parsed = self.parse(lines.filter(pa.array(content)))
        count = int(content.sum()) + len(bad)
        numbers = np.flatnonzero(content)
        bad.update((int(numbers[line]), reason) for line, reason in parsed.bad.items())
        in_block = {line + piece.first: reason for line, reason in sorted(bad.items())}
        found = Parsed(parsed.rows, numbers[parsed.lines] + piece.first, in_block)
        return found, Tally(count, parsed.rows.num_rows, Counter(bad.values()))


def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
    """Cut batches of the columns value, file and start into pieces of one block each."""
    block, first = Block("", -1), 0
    for batch in batches:
        lines, files, starts = batch.columns
        for begin, end in _runs(files, starts.to_numpy()):
            here = Block(files[begin].as_py(), starts[begin].as_py())
            block, first = (block, first) if here == block else (here, 0)
            yield Piece(block, first, lines.slice(begin, end - begin))
            first += end - begin


def read_pieces(
    batches: Iterable[pa.RecordBatch], reader: Reader, note: Callable[[Block, Tally], None]
) -> Iterator[tuple[Piece, Parsed]]:
    """Yield each piece and what it says; a block's count is noted when all of it has been read."""
    block, tally = None, Tally()
    for piece in pieces(batches):
        if block is not None and piece.block != block:
            note(block, tally)
            tally = Tally()
        block = piece.block
        parsed, more = reader.read(piece)
        tally += more
        yield piece, parsed
    if block is not None:
        note(block, tally)


def _runs(files: pa.Array, starts: Numbers) -> Iterator[tuple[int, int]]:
    """Yield where each run of rows of one block begins and ends."""
    if not len(starts):
        return
    changes = starts[1:] != starts[:-1]
    changes |= np.asarray(pc.not_equal(files[1:], files[:-1]))
    bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(starts)]
    yield from pairwise(bounds)


def _decoded(lines: pa.Array) -> tuple[pa.Array, list[int]]:
    """Return lines as text, and which of them were none: Spark hands on bytes that it did not check."""
    try:
        lines.validate(full=True)
        return lines, []
    except pa.ArrowInvalid:
        raw = lines.cast(pa.binary()).to_pylist()
    wrong = [number for number, line in enumerate(raw) if not _is_text(line)]
    return pa.array([line.decode(errors="replace") for line in raw], pa.string()), wrong


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _bare(lines: pa.Array, starts_file: bool) -> pa.Array:
    """Return lines without the end that Windows gives them, and without a byte order mark."""
    lines = pc.utf8_rtrim(lines, "\r")
    if starts_file and (first := lines[0].as_py()).startswith(BYTE_ORDER_MARK):
        lines = pa.concat_arrays([pa.array([first[1:]], lines.type), lines[1:]])
    return lines


def _is_blank(lines: pa.Array, comment: str) -> Mask:
    blank = pc.equal(pc.utf8_trim_whitespace(lines), "")
    if comment:
        blank = pc.or_(blank, pc.starts_with(lines, comment))
    return np.array(blank)
