"""Matched batches: where do the rows of Arrow batches go? This runs in the workers.

It needs nothing of Spark but that: a test may call it.
"""

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
_MATCHES = 200_000  # in a batch that goes back to Spark, roughly


@dataclass(frozen=True)
class Tally:
    """What was counted while rows were matched; the seconds are processor time of all workers together."""

    records: int = 0
    matches: int = 0
    rejected: Counter[str] = field(default_factory=Counter)  # by reason
    encode_s: float = 0.0
    match_s: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.records + other.records,
            self.matches + other.matches,
            self.rejected + other.rejected,
            self.encode_s + other.encode_s,
            self.match_s + other.match_s,
        )


Note = Callable[[Tally], None]


@dataclass(frozen=True)
class Plan:
    """All that a worker needs to know."""

    tables: tuple[ShippedTable, ...]
    keys: int  # the first columns, which go through as they are
    attributes: tuple[Attribute, ...]  # the columns after them
    has_corrupt: bool  # the last column says which rows could not be read
    names: tuple[str, ...]  # of the columns of the result
    are_ints: bool  # all interfaces are
    with_filters: bool
    is_overlapping: bool  # one interface is in several tables


def match_batches(batches: Iterable[pa.RecordBatch], plan: Plan, note: Note | None = None) -> Iterator[pa.RecordBatch]:
    """Match batches of rows; return batches of the result."""
    tables = [table.open() for table in plan.tables]
    tally = Tally()
    for batch in batches:
        messages = _messages(batch, plan)
        tally += Tally(batch.num_rows, rejected=messages.rejected)
        for rows, columns, spent in _found(messages, tables, plan):
            tally += replace(spent, matches=len(rows))
            keys = [batch.column(place).take(pa.array(rows)) for place in range(plan.keys)]
            yield pa.RecordBatch.from_arrays([*keys, *columns], names=[*plan.names])
    if note is not None:
        note(tally)


def _messages(batch: pa.RecordBatch, plan: Plan) -> Messages:
    columns = batch.columns[plan.keys :][: len(plan.attributes)]
    if not plan.has_corrupt:
        return messages_of(columns, plan.attributes, batch.num_rows)
    readable = np.flatnonzero(~np.asarray(batch.columns[-1]))
    if len(readable) == batch.num_rows:
        return messages_of(columns, plan.attributes, batch.num_rows)
    messages = messages_of([column.take(pa.array(readable)) for column in columns], plan.attributes, len(readable))
    messages.rejected["the row cannot be read"] += batch.num_rows - len(readable)
    return replace(messages, rows=readable if messages.rows is None else readable[messages.rows])


Found = tuple[NDArray[np.int64], list[pa.Array], Tally]


def _found(messages: Messages, tables: Sequence[OpenTable], plan: Plan) -> Iterator[Found]:
    """Return the row and the result's own columns of each match, in parts of bounded size."""
    parts = _parts(messages, tables, plan)
    if not plan.is_overlapping:
        yield from parts
    elif all_parts := [*parts]:
        yield _distinct(all_parts)


def _parts(messages: Messages, tables: Sequence[OpenTable], plan: Plan) -> Iterator[Found]:
    for table in tables:
        start = thread_time()
        encoded, kept = encode_batch(messages.batch, table.matcher.symbols)
        encode_s = thread_time() - start
        first, count = 0, _FIRST_ROWS
        while first < len(encoded):
            end = min(len(encoded), first + count)
            start = thread_time()
            offsets, targets, _ = table.matcher.index.match_batch(encoded, first, end)
            spent = Tally(encode_s=encode_s, match_s=thread_time() - start)
            places = np.repeat(np.arange(first, end), np.diff(offsets))
            filters = [table.filters(targets)] if plan.with_filters else []
            interfaces = table.interfaces(targets).cast(pa.int64() if plan.are_ints else pa.string())
            yield places if messages.rows is None else messages.rows[places], [interfaces, *filters], spent
            # A message may go to every interface of a large table: as many rows as make a batch of bounded size.
            count = max(1, int(_MATCHES * (end - first) / max(len(targets), 1)))
            first, encode_s = end, 0.0
        del kept


def _distinct(parts: Sequence[Found]) -> Found:
    """Return matches without those that several tables have found."""
    rows = np.concatenate([rows for rows, _, _ in parts])
    names = [str(place) for place in range(len(parts[0][1]))]
    columns = [pa.concat_arrays([columns[place] for _, columns, _ in parts]) for place in range(len(names))]
    table = pa.table([pa.array(rows), *columns], ["row", *names]).group_by(["row", *names]).aggregate([])
    spent = sum((spent for _, _, spent in parts), Tally())
    return np.asarray(table["row"]), [table[name].combine_chunks() for name in names], spent
