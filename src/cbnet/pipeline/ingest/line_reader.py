"""Lines of a task, parsed and counted by block.

Spark gives a task one or more *blocks*, parts of files, line by line and in order. A line's number is known only inside
its block, so a task counts from the start of the block; for numbers in the whole file the lines of the blocks before
are added (`readers.first_in_file`).

    file ─┬─ block at byte 0:      lines 0, 1, 2 …   the header, if there is one, is line 0
          └─ block at byte 2²⁷:    lines 0, 1, 2 …
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cbnet.pipeline.ingest.fields import Mask, ParsedLines, Parser
from cbnet.pipeline.ingest.list_columns import Numbers

NOT_UTF8 = "not UTF-8"
WRONG_HEADER = "header differs from the other files"
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


class Block(NamedTuple):
    """A part of a file, identified by its first byte."""

    file: str
    start: int


@dataclass(frozen=True)
class LineRun:
    """Consecutive lines of a block, at least one; `first` is the number of the first in the block, from 0."""

    block: Block
    first: int
    lines: pa.Array


@dataclass(frozen=True)
class LineCounts:
    """Numbers of lines (without blank ones, comments and header), of rows, and of rejected lines by reason."""

    lines: int = 0
    rows: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: LineCounts) -> LineCounts:
        return LineCounts(self.lines + other.lines, self.rows + other.rows, self.rejected + other.rejected)

    def __str__(self) -> str:
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in self.rejected.most_common(5))
        rejected = f"{self.rejected.total():,} rejected ({reasons})" if reasons else "none rejected"
        return f"{self.lines:,} lines, {self.rows:,} rows, {rejected}"


@dataclass(frozen=True)
class LineReader:
    """A parser of the lines of a trace, with its header line, if it has one."""

    parse: Parser
    header: str | None = None
    comment: str = ""

    def read(self, run: LineRun) -> tuple[ParsedLines, LineCounts]:
        """Parse and count lines; the numbers of the result are those of the block."""
        lines, wrong = _decode(run.lines)
        starts_file = run.block.start == 0 and run.first == 0
        lines = _strip(lines, starts_file)
        rejected = dict.fromkeys(wrong, NOT_UTF8)
        if starts_file and self.header is not None and lines[0].as_py() != self.header:
            rejected[0] = WRONG_HEADER
        content = ~_is_blank(lines, self.comment)
        content[[*rejected]] = False
        content[0] &= not (starts_file and self.header is not None)

        parsed = self.parse(lines.filter(pa.array(content)))
        count = int(content.sum()) + len(rejected)
        numbers = np.flatnonzero(content)
        rejected.update((int(numbers[line]), reason) for line, reason in parsed.rejected.items())
        in_block = {line + run.first: reason for line, reason in sorted(rejected.items())}
        counts = LineCounts(count, parsed.rows.num_rows, Counter(rejected.values()))
        return ParsedLines(parsed.rows, numbers[parsed.lines] + run.first, in_block), counts


def line_runs(batches: Iterable[pa.RecordBatch]) -> Iterator[LineRun]:
    """Split batches of the columns value, file and start into runs of one block each."""
    block, first = Block("", -1), 0
    for batch in batches:
        lines, files, starts = batch.columns
        for begin, end in run_bounds(files, starts.to_numpy()):
            here = Block(files[begin].as_py(), starts[begin].as_py())
            block, first = (block, first) if here == block else (here, 0)
            yield LineRun(block, first, lines.slice(begin, end - begin))
            first += end - begin


def read_lines(
    batches: Iterable[pa.RecordBatch], reader: LineReader, count: Callable[[Block, LineCounts], None]
) -> Iterator[tuple[LineRun, ParsedLines]]:
    """Yield each run and its rows; call `count` with the counts of each block once all of it has been read."""
    block, counts = None, LineCounts()
    for run in line_runs(batches):
        if block is not None and run.block != block:
            count(block, counts)
            counts = LineCounts()
        block = run.block
        parsed, more = reader.read(run)
        counts += more
        yield run, parsed
    if block is not None:
        count(block, counts)


def run_bounds(files: pa.Array, starts: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the bounds of each run of rows of one block."""
    if not len(starts):
        return
    changes = starts[1:] != starts[:-1]
    changes |= np.asarray(pc.not_equal(files[1:], files[:-1]))
    bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(starts)]
    yield from pairwise(bounds)


def _decode(lines: pa.Array) -> tuple[pa.Array, list[int]]:
    """Return lines as text, and the numbers of those that are not UTF-8, which Spark does not check."""
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


def _strip(lines: pa.Array, starts_file: bool) -> pa.Array:
    """Return lines without carriage returns and byte order mark."""
    lines = pc.utf8_rtrim(lines, "\r")
    if starts_file and (first := lines[0].as_py()).startswith(BYTE_ORDER_MARK):
        lines = pa.concat_arrays([pa.array([first[1:]], lines.type), lines[1:]])
    return lines


def _is_blank(lines: pa.Array, comment: str) -> Mask:
    blank = pc.equal(pc.utf8_trim_whitespace(lines), "")
    if comment:
        blank = pc.or_(blank, pc.starts_with(lines, comment))
    return np.array(blank)


def path_of(file: str) -> str:
    """Return the usual form of a path; Spark gives a local one as file:/with%20blank."""
    return re.sub("^/+", "/", unquote(file.removeprefix("file:"))) if file.startswith("file:") else file
