"""Matching of the rows of Arrow batches, in the workers; independent of Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from time import thread_time
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet._kernels.json_encoding import JsonEncoder
from cbnet._kernels.message_encoding import Batch
from cbnet.errors import InputError
from cbnet.matching.files.message_files import Blank, add_line
from cbnet.matching.storage.arrow_messages import Rejected, encode_batch
from cbnet.matching.storage.rule_section import sorted_by_priority
from cbnet.pipeline.ingest.line_reader import Block, path_of, run_bounds
from cbnet.pipeline.match.shipped_tables import OpenTable, ShippedTable

_FIRST_ROWS = 256
_MATCHES_PER_SLICE = 200_000  # roughly, of all tables
_MAX_BYTES = 2**31 - 1  # of the strings of an Arrow column

OnError = Literal["fail", "drop", "column"]  # policy for rows that are not valid messages
FAIL: OnError = "fail"
DROP: OnError = "drop"
COLUMN: OnError = "column"
RULE, FILTER = "rule", "filter"  # columns of the result
DETAILS = PRIORITY, METADATA = f"{RULE}_priority", f"{RULE}_metadata"
ERROR, PLACE = "_error", "_place"  # columns of rejected rows: the reason; of lines, file:line:column
COUNTS = "_counts"  # column of the rows with counts, null in others


@dataclass(frozen=True)
class MatchCounts:
    """Counts of matching; seconds are processor time of all workers together."""

    records: int = 0
    matches: int = 0
    rejected: int = 0
    encode_s: float = 0.0
    match_s: float = 0.0

    def __add__(self, other: MatchCounts) -> MatchCounts:
        return MatchCounts(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))

    def as_arrow(self) -> pa.Array:
        """Return a column of one row."""
        return pa.array([asdict(self)])


@dataclass(frozen=True)
class MatchPlan:
    """The inputs of a worker."""

    tables: tuple[ShippedTable, ...]
    keys: tuple[str, ...]  # names of the first columns, which are copied to the result
    attributes: tuple[str, ...]  # names of the columns after them
    result: pa.Schema  # of the columns after the keys: some of rule, details, filter, ERROR and COUNTS
    is_overlapping: bool  # a rule is in several tables
    on_error: OnError
    has_corrupt: bool = False  # the last column marks unreadable rows
    has_lines: bool = False  # the column after the keys is a line of JSON; no `attributes`: all of it
    first: Mapping[Block, int] | None = None  # lines in a file before each block; the last columns are file and start


def match_batches(batches: Iterable[pa.RecordBatch], plan: MatchPlan) -> Iterator[pa.RecordBatch]:
    """Match batches of rows; yield batches of the result."""
    tables = [table.open() for table in plan.tables]
    counts, last, read = MatchCounts(), None, Counter[Block]()
    for batch in batches:
        start = thread_time()
        messages, rejected, blank = _encode(batch, tables, plan)
        counts += MatchCounts(batch.num_rows - len(blank), 0, len(rejected), thread_time() - start)
        runs = [] if plan.first is None else _numbered(batch, plan.first, read)
        yield from _rejected(batch, _located(rejected, runs), plan)
        for parts, undecided in _slices(messages, [*rejected, *blank], tables, plan):
            counts += MatchCounts(rejected=len(undecided))
            yield from _rejected(batch, _located(undecided, runs), plan)
            for part in parts:
                counts += MatchCounts(matches=len(part.rows), match_s=part.seconds)
                yield _result(batch, part.rows, part.columns, plan)
        last = batch
    if COUNTS in plan.result.names and last is not None:
        yield _result(last, [None], {COUNTS: counts.as_arrow()}, plan)


def _rejected(batch: pa.RecordBatch, rejected: Rejected, plan: MatchPlan) -> Iterator[pa.RecordBatch]:
    """Yield the rejected rows, if the result has them; raise an error if they are not allowed."""
    if rejected and plan.on_error == FAIL:
        raise _failure(batch, rejected, plan)
    if rejected and plan.on_error == COLUMN:
        reasons = pa.array([error.problem for error in rejected.values()], pa.string())
        places = pa.array([error.location for error in rejected.values()], pa.string())
        yield _result(batch, [*rejected], {ERROR: reasons, PLACE: places}, plan)


def _numbered(batch: pa.RecordBatch, first: Mapping[Block, int], read: Counter[Block]) -> list[tuple[range, str, int]]:
    """Return runs of rows, with their file and the line of the row 0; `read` counts the lines of each block so far."""
    runs = []
    files, starts = batch.columns[-2:]
    for begin, end in run_bounds(files, starts.to_numpy()):
        block = Block(files[begin].as_py(), starts[begin].as_py())
        runs.append((range(begin, end), path_of(block.file), first[block] + read[block] + 1 - begin))
        read[block] += end - begin
    return runs


def _located(errors: Rejected, runs: Sequence[tuple[range, str, int]]) -> Rejected:
    """Set file and line of errors."""
    for rows, file, line in runs if errors else ():
        for row in errors.keys() & rows:
            errors[row].at(file=file, line=line + row)
    return errors


def match_lists(batch: pa.RecordBatch, plan: MatchPlan) -> pa.ListArray:
    """Return the rules of each row as strings, in the order of `Table.match`; null for rejected rows."""
    tables = [table.open() for table in plan.tables]
    messages, rejected, _ = _encode(batch, tables, plan)
    if rejected and plan.on_error == FAIL:
        raise _failure(batch, rejected, plan)
    lists: list[pa.Array] = []  # the rules of the rows in order
    size = 0
    numbers = np.zeros(batch.num_rows + 1, np.int64)  # of rules of each row, after a 0
    for parts, undecided in _slices(messages, [*rejected], tables, plan):
        if undecided and plan.on_error == FAIL:
            raise _failure(batch, undecided, plan)
        rejected |= undecided
        rows = np.concatenate([part.rows for part in parts])
        numbers[1:] += np.bincount(rows, minlength=batch.num_rows)
        rules = pa.concat_arrays([part.columns[RULE] for part in parts])
        lists.append(rules.take(pa.array(np.argsort(rows, kind="stable"))).cast(pa.string()))
        size += lists[-1].nbytes
        if size > _MAX_BYTES:
            hint = "use the table function, or set spark.sql.execution.arrow.maxRecordsPerBatch to a smaller number"
            problem = f"the matches of {batch.num_rows:,} rows have {size:,} bytes: more than an Arrow column holds"
            raise InputError(problem, hint=hint)
    in_order = pa.concat_arrays(lists) if lists else pa.nulls(0, pa.string())
    offsets = np.cumsum(numbers).astype(np.int32)
    is_null = np.zeros(batch.num_rows, bool)
    is_null[[*rejected]] = True
    return pa.ListArray.from_arrays(pa.array(offsets), in_order, mask=pa.array(is_null))


def _result(batch: pa.RecordBatch, rows: Any, columns: Mapping[str, pa.Array], plan: MatchPlan) -> pa.RecordBatch:
    """Return the keys of some rows and columns of the result; other columns are null."""
    indexes = pa.array(rows, pa.int64())
    keys = [batch.column(key).take(indexes) for key in range(len(plan.keys))]
    others = [columns[name] if name in columns else pa.nulls(len(indexes), type) for name, type in _types(plan)]
    return pa.RecordBatch.from_arrays([*keys, *others], names=[*plan.keys, *plan.result.names])


def _types(plan: MatchPlan) -> Iterator[tuple[str, pa.DataType]]:
    return zip(plan.result.names, plan.result.types, strict=True)


def _failure(batch: pa.RecordBatch, rejected: Rejected, plan: MatchPlan) -> InputError:
    """Return the error of the first rejected row, which is identified by its key."""
    row = min(rejected)
    keys = ", ".join(f"{name} = {str(batch.column(key)[row])[:40]}" for key, name in enumerate(plan.keys[:3]))
    place = f"the row with {keys}" if keys else "a row"
    if plan.has_lines:
        text = batch.column(len(plan.keys))[row].as_py() or b""
        place = f"the line {text[:60].decode(errors='replace')!r}"
    return InputError(
        f"{place} is not a valid message: {rejected[row].problem}", hint='use on_error="drop" or "column"'
    )


EncodedMessages = list[tuple[Batch, Any]]  # of each table, with what must be kept alive


@dataclass(frozen=True)
class _Matches:
    """Matches of some rows; those of a row are in the order of their rules."""

    rows: NDArray[np.int64]
    columns: dict[str, pa.Array]  # of the result
    priorities: NDArray[np.int64]
    seconds: float

    def without(self, rejected: Sequence[int]) -> _Matches:
        """Return the matches of the other rows."""
        kept = np.flatnonzero(np.isin(self.rows, rejected, invert=True))
        columns = {name: column.take(pa.array(kept)) for name, column in self.columns.items()}
        return replace(self, rows=self.rows[kept], columns=columns, priorities=self.priorities[kept])


def _encode(
    batch: pa.RecordBatch, tables: Sequence[OpenTable], plan: MatchPlan
) -> tuple[EncodedMessages, Rejected, Sequence[int]]:
    """Return the messages, encoded for each table, the errors of rejected rows, and the numbers of blank lines."""
    if plan.has_lines:
        return _encode_lines(batch.column(len(plan.keys)), tables, plan.attributes)
    columns = batch.columns[len(plan.keys) :][: len(plan.attributes)]
    # A batch without columns would have no number of rows.
    messages = pa.RecordBatch.from_arrays([*columns, pa.nulls(batch.num_rows)], [*plan.attributes, ""])
    errors: Rejected = {}
    encoded = [encode_batch(messages, table.matcher.symbols, 0, errors) for table in tables]
    # Without the row's number.
    rejected: Rejected = {row: InputError(error.problem.partition(", ")[2]) for row, error in errors.items()}
    unreadable = np.flatnonzero(np.asarray(batch.columns[-1])).tolist() if plan.has_corrupt else []
    return encoded, rejected | {row: InputError("the row cannot be read") for row in unreadable}, ()


def _encode_lines(
    lines: pa.Array, tables: Sequence[OpenTable], attributes: Sequence[str]
) -> tuple[EncodedMessages, Rejected, Sequence[int]]:
    """Return the messages of lines as files are read, and the rest as `_encode` does."""
    encoded: EncodedMessages = []
    rejected: Rejected = {}
    blank: dict[int, None] = {}
    texts = lines.fill_null(b"").cast(pa.binary())
    _, offsets, data = texts.buffers()
    for table in tables:
        symbols = table.matcher.symbols
        encoder = JsonEncoder(symbols)
        row = 0
        while row < len(lines):
            if not attributes and data is not None:
                first = texts.offset
                row = encoder.add_texts(offsets.address, data.address, first + row, first + len(lines), texts) - first
            if row == len(lines):
                break
            line = lines[row].as_py()
            error = InputError("no value") if line is None else add_line(line, encoder, symbols, attributes)
            if isinstance(error, InputError):
                rejected.setdefault(row, error)
            elif error is Blank.LINE:
                blank[row] = None
            if error:
                encoder.add({})  # every row has a place in the batch
            row += 1
        encoded.append((encoder.batch, lines))
    return encoded, rejected, [*blank]


def _slices(
    messages: EncodedMessages, rejected: list[int], tables: Sequence[OpenTable], plan: MatchPlan
) -> Iterator[tuple[list[_Matches], Rejected]]:
    """Yield the matches of slices of the rows, in order, of bounded size; none if the result has no rules.

    The parts of a slice follow each other in the order of the tables, and in that of the rules. With them, the reasons
    of rows for which rules are undecided: these are rejected too.
    """
    has_rules = RULE in plan.result.names
    size = len(messages[0][0]) if has_rules or messages[0][0].has_nested() else 0
    first, count = 0, max(1, _FIRST_ROWS // len(tables))
    is_joined = plan.is_overlapping or (len(tables) > 1 and any(table.compiled.order for table in tables))
    while first < size:
        end = min(size, first + count)
        parts = [
            _part(encoded, table, first, end, rejected, plan)
            for (encoded, _), table in zip(messages, tables, strict=True)
        ]
        undecided = _undecided(messages, tables, first, end)
        if undecided:
            parts = [part.without([*undecided]) for part in parts]
        if has_rules or undecided:
            yield ([_joined(parts, plan)] if is_joined else parts) if has_rules else [], undecided
        # A message may match every rule of a large table: choose the next rows by the matches so far.
        found = sum(len(part.rows) for part in parts)
        count = max(1, _MATCHES_PER_SLICE * (end - first) // max(found, 1))
        first = end


def _undecided(messages: EncodedMessages, tables: Sequence[OpenTable], first: int, end: int) -> Rejected:
    """Return the errors of the rows of a slice for which rules are undecided."""
    return {
        row: error
        for (encoded, _), table in zip(messages, tables, strict=True)
        for row, error in table.matcher.undecided(encoded).items()
        if first <= row < end
    }


def _part(encoded: Batch, table: OpenTable, first: int, end: int, rejected: list[int], plan: MatchPlan) -> _Matches:
    """Return the matches of some rows with a table."""
    start = thread_time()
    offsets, targets, _ = table.matcher.index.match_batch(encoded, first, end)
    seconds = thread_time() - start
    rows = np.repeat(np.arange(first, end), np.diff(offsets))
    if rejected:
        is_kept = np.isin(rows, rejected, invert=True)
        rows, targets = rows[is_kept], targets[is_kept]
    order = table.compiled.order
    rules = table.rules_of(targets)
    priorities = np.zeros(len(rules), np.int64) if order is None else order.priorities(rules)
    if order is not None or rules is not targets:  # filters are not in the order of their rules
        sorted = sorted_by_priority(rows, priorities, rules)
        rows, targets, rules, priorities = rows[sorted], targets[sorted], rules[sorted], priorities[sorted]
    filters = {FILTER: table.filters(targets)} if FILTER in plan.result.names else {}
    details = table.details(rules) if PRIORITY in plan.result.names else {}
    names = table.names_of(rules)
    if RULE in plan.result.names:  # else only undecided rows are of interest
        names = names.cast(plan.result.field(RULE).type)
    return _Matches(rows, {RULE: names, **details, **filters}, priorities, seconds)


def _joined(parts: Sequence[_Matches], plan: MatchPlan) -> _Matches:
    """Return the matches of several tables in one order, each once."""
    rows = np.concatenate([part.rows for part in parts])
    priorities = np.concatenate([part.priorities for part in parts])
    kept = sorted_by_priority(rows, priorities)
    columns = {name: pa.concat_arrays([part.columns[name] for part in parts]).take(kept) for name in parts[0].columns}
    if plan.is_overlapping:
        found = pa.table({"row": rows[kept], **columns, "index": np.arange(len(kept))})
        first = np.sort(found.group_by(["row", *columns]).aggregate([("index", "min")])["index_min"])
        kept, columns = kept[first], {name: column.take(first) for name, column in columns.items()}
    return _Matches(rows[kept], columns, priorities[kept], sum(part.seconds for part in parts))
