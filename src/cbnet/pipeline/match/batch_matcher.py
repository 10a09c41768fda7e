"""Matching of the rows of Arrow batches, in the workers; independent of Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import thread_time
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet._kernels.message_encoding import Batch
from cbnet.matching.storage.arrow_messages import Rejected, encode_batch
from cbnet.pipeline.match.shipped_tables import OpenTable, ShippedTable

_FIRST_ROWS = 256
_MATCHES_PER_BATCH = 200_000  # returned to Spark, roughly


@dataclass(frozen=True)
class MatchCounts:
    """Counts of matching; seconds are processor time of all workers together."""

    records: int = 0
    matches: int = 0
    rejected: Counter[str] = field(default_factory=Counter)  # by reason
    encode_s: float = 0.0
    match_s: float = 0.0

    def __add__(self, other: MatchCounts) -> MatchCounts:
        return MatchCounts(
            self.records + other.records,
            self.matches + other.matches,
            self.rejected + other.rejected,
            self.encode_s + other.encode_s,
            self.match_s + other.match_s,
        )


AddCounts = Callable[[MatchCounts], None]


@dataclass(frozen=True)
class MatchPlan:
    """The inputs of a worker."""

    tables: tuple[ShippedTable, ...]
    keys: int  # number of first columns, which are copied to the result
    attributes: tuple[str, ...]  # names of the columns after them
    has_corrupt: bool  # the last column marks unreadable rows
    names: tuple[str, ...]  # of the result's columns
    are_ints: bool  # all interfaces are ints
    with_filters: bool
    is_overlapping: bool  # an interface is in several tables


def match_batches(
    batches: Iterable[pa.RecordBatch], plan: MatchPlan, add_counts: AddCounts | None = None
) -> Iterator[pa.RecordBatch]:
    """Match batches of rows; yield batches of the result."""
    tables = [table.open() for table in plan.tables]
    counts = MatchCounts()
    for batch in batches:
        start = thread_time()
        messages, rejected = _encode(batch, tables, plan)
        counts += MatchCounts(batch.num_rows, 0, Counter(rejected.values()), thread_time() - start)
        for rows, columns, match_s in _matches(messages, [*rejected], tables, plan):
            counts += MatchCounts(matches=len(rows), match_s=match_s)
            keys = [batch.column(key).take(pa.array(rows)) for key in range(plan.keys)]
            yield pa.RecordBatch.from_arrays([*keys, *columns], names=[*plan.names])
    if add_counts is not None:
        add_counts(counts)


EncodedMessages = list[tuple[Batch, Any]]  # of each table, with what must be kept alive
Matches = tuple[NDArray[np.int64], list[pa.Array], float]  # row and new columns of each match; seconds


def _encode(
    batch: pa.RecordBatch, tables: Sequence[OpenTable], plan: MatchPlan
) -> tuple[EncodedMessages, dict[int, str]]:
    """Return the messages, encoded for each table, and the reasons of rejected rows."""
    columns = batch.columns[plan.keys :][: len(plan.attributes)]
    # A batch without columns would have no number of rows.
    messages = pa.RecordBatch.from_arrays([*columns, pa.nulls(batch.num_rows)], [*plan.attributes, ""])
    errors: Rejected = {}
    encoded = [encode_batch(messages, table.matcher.symbols, 0, errors) for table in tables]
    reasons = {row: error.problem.partition(", ")[2] for row, error in errors.items()}  # without the row's number
    unreadable = np.flatnonzero(np.asarray(batch.columns[-1])).tolist() if plan.has_corrupt else []
    return encoded, reasons | dict.fromkeys(unreadable, "the row cannot be read")


def _matches(
    messages: EncodedMessages, rejected: list[int], tables: Sequence[OpenTable], plan: MatchPlan
) -> Iterator[Matches]:
    """Yield matches of rows that are not rejected, in parts of bounded size."""
    parts = _parts(messages, rejected, tables, plan)
    if not plan.is_overlapping:
        yield from parts
    elif all_parts := [*parts]:
        yield _distinct(all_parts)


def _parts(
    messages: EncodedMessages, rejected: list[int], tables: Sequence[OpenTable], plan: MatchPlan
) -> Iterator[Matches]:
    for (encoded, _), table in zip(messages, tables, strict=True):
        first, count = 0, _FIRST_ROWS
        while first < len(encoded):
            end = min(len(encoded), first + count)
            start = thread_time()
            offsets, targets, _ = table.matcher.index.match_batch(encoded, first, end)
            match_s = thread_time() - start
            # A message may match every interface of a large table: choose the next rows by the matches so far.
            count = max(1, int(_MATCHES_PER_BATCH * (end - first) / max(len(targets), 1)))
            rows = np.repeat(np.arange(first, end), np.diff(offsets))
            if rejected:
                is_kept = np.isin(rows, rejected, invert=True)
                rows, targets = rows[is_kept], targets[is_kept]
            filters = [table.filters(targets)] if plan.with_filters else []
            interfaces = table.interfaces(targets).cast(pa.int64() if plan.are_ints else pa.string())
            yield rows, [interfaces, *filters], match_s
            first = end


def _distinct(parts: Sequence[Matches]) -> Matches:
    """Return matches without duplicates of several tables."""
    rows = np.concatenate([rows for rows, _, _ in parts])
    names = [str(column) for column in range(len(parts[0][1]))]
    columns = [pa.concat_arrays([columns[index] for _, columns, _ in parts]) for index in range(len(names))]
    table = pa.table([pa.array(rows), *columns], ["row", *names]).group_by(["row", *names]).aggregate([])
    seconds = sum(seconds for _, _, seconds in parts)
    return np.asarray(table["row"]), [table[name].combine_chunks() for name in names], seconds
