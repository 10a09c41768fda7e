"""Matching of the rows of Arrow batches, in the workers; independent of Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import thread_time

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cbnet.matching.storage.arrow_messages import encode_batch
from cbnet.pipeline.match.message_batches import Messages, messages_of
from cbnet.pipeline.match.message_columns import Attribute
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
    attributes: tuple[Attribute, ...]  # of the columns after them
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
        messages = _messages(batch, plan)
        counts += MatchCounts(batch.num_rows, rejected=messages.rejected)
        for rows, columns, spent in _matches(messages, tables, plan):
            counts += replace(spent, matches=len(rows))
            keys = [batch.column(key).take(pa.array(rows)) for key in range(plan.keys)]
            yield pa.RecordBatch.from_arrays([*keys, *columns], names=[*plan.names])
    if add_counts is not None:
        add_counts(counts)


def _messages(batch: pa.RecordBatch, plan: MatchPlan) -> Messages:
    columns = batch.columns[plan.keys :][: len(plan.attributes)]
    if not plan.has_corrupt:
        return messages_of(columns, plan.attributes, batch.num_rows)
    readable = np.flatnonzero(~np.asarray(batch.columns[-1]))
    if len(readable) == batch.num_rows:
        return messages_of(columns, plan.attributes, batch.num_rows)
    messages = messages_of([column.take(pa.array(readable)) for column in columns], plan.attributes, len(readable))
    messages.rejected["the row cannot be read"] += batch.num_rows - len(readable)
    return replace(messages, rows=readable if messages.rows is None else readable[messages.rows])


Matches = tuple[NDArray[np.int64], list[pa.Array], MatchCounts]


def _matches(messages: Messages, tables: Sequence[OpenTable], plan: MatchPlan) -> Iterator[Matches]:
    """Yield the row and the new columns of each match, in parts of bounded size."""
    parts = _parts(messages, tables, plan)
    if not plan.is_overlapping:
        yield from parts
    elif all_parts := [*parts]:
        yield _distinct(all_parts)


def _parts(messages: Messages, tables: Sequence[OpenTable], plan: MatchPlan) -> Iterator[Matches]:
    for table in tables:
        start = thread_time()
        encoded, kept = encode_batch(messages.batch, table.matcher.symbols)
        encode_s = thread_time() - start
        first, count = 0, _FIRST_ROWS
        while first < len(encoded):
            end = min(len(encoded), first + count)
            start = thread_time()
            offsets, targets, _ = table.matcher.index.match_batch(encoded, first, end)
            spent = MatchCounts(encode_s=encode_s, match_s=thread_time() - start)
            indexes = np.repeat(np.arange(first, end), np.diff(offsets))
            filters = [table.filters(targets)] if plan.with_filters else []
            interfaces = table.interfaces(targets).cast(pa.int64() if plan.are_ints else pa.string())
            yield indexes if messages.rows is None else messages.rows[indexes], [interfaces, *filters], spent
            # A message may match every interface of a large table: choose the next rows by the matches so far.
            count = max(1, int(_MATCHES_PER_BATCH * (end - first) / max(len(targets), 1)))
            first, encode_s = end, 0.0
        del kept


def _distinct(parts: Sequence[Matches]) -> Matches:
    """Return matches without duplicates of several tables."""
    rows = np.concatenate([rows for rows, _, _ in parts])
    names = [str(column) for column in range(len(parts[0][1]))]
    columns = [pa.concat_arrays([columns[index] for _, columns, _ in parts]) for index in range(len(names))]
    table = pa.table([pa.array(rows), *columns], ["row", *names]).group_by(["row", *names]).aggregate([])
    spent = sum((spent for _, _, spent in parts), MatchCounts())
    return np.asarray(table["row"]), [table[name].combine_chunks() for name in names], spent
