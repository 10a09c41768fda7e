"""Queries for subsets, spread over partitions by tag and answered in slices of bounded size.

A set is stored at its rarest tag, the last one. Its prefixes are queries, each at its own last tag:

    {1, 4, 9}      stored at 9       query {1, 4} at 4       query {1} at 1

Balance   A tag of half of all sets is asked by half of them. The sets stored there are few: they are copied to several
          partitions, and a query goes to one. How many follows from the load of the group and the rank of the tag.
Memory    Partitions are sorted by group and tag, stored sets first, and Spark sorts on disk if needed. A slice has all
          rows of some groups and tags; if one tag has more, it comes in several slices, each with all its stored sets.

Neither changes a result. What a task must hold at least are the stored sets of one group and tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.matching.minimal_sets import Numbers, TagSets

Flags: TypeAlias = NDArray[np.bool_]

_MAX_BYTES = 32 << 20  # of a slice; a task needs about four times as much while it answers one
_TAGS_PER_SET = 4.0  # tag n is in at most this/(n + 1) of all sets


def spread_queries(sets: DataFrame, partitions: int, load: Column | None = None) -> DataFrame:
    """Return a row for each prefix of each set, with `length` and `copy`, partitioned and sorted for `slices`.

    sets: `tags` and optionally `group`. load: that of the set's group, in partitions of average size (null: less than
    one); None if no group has more than one.
    """
    sent = sets.withColumn("length", F.explode(F.sequence(F.lit(1), F.size("tags"))))
    group = F.col("group") if "group" in sets.columns else F.lit(0)
    tag, is_stored = F.element_at("tags", F.col("length")), F.col("length") == F.size("tags")
    if load is None:
        sent = sent.withColumn("copy", F.lit(0))
    else:
        sent = sent.withColumn("copy", F.explode(_copies(is_stored, _copy_count(load, tag))))
    # One number: Spark sorts these without comparing rows.
    place = F.shiftleft(group.cast("long"), 32) + 2 * tag.cast("long") + F.when(is_stored, 0).otherwise(1)
    return sent.repartition(partitions, group, tag, F.col("copy")).sortWithinPartitions(place)


def _copy_count(load: Column, tag: Column) -> Column:
    share = F.lit(_TAGS_PER_SET) / (tag + F.lit(_TAGS_PER_SET))
    return F.greatest(F.lit(1), F.floor(F.coalesce(load, F.lit(1.0)) * share)).cast("int")


def _copies(is_stored: Column, count: Column) -> Column:
    one = F.pmod(F.xxhash64("tags"), count.cast("long")).cast("int")
    return F.when(is_stored, F.sequence(F.lit(0), count - 1)).otherwise(F.array(one))


def slices(batches: Iterator[pa.RecordBatch], max_bytes: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition in slices; each holds every stored set that its queries are to be compared with.

    Stored sets that an earlier slice had before have a `copy` other than 0.
    """
    return _slices(batches, _keys, _answered, max_bytes)


def slices_by(column: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition that is sorted by a column, in slices with all rows of a value."""
    return _slices(batches, lambda rows: _column(rows, column))


def _slices(
    batches: Iterator[pa.RecordBatch],
    keys_of: Callable[[pa.RecordBatch], Numbers],
    answered: Callable[[pa.RecordBatch], pa.RecordBatch | None] = lambda _: None,
    max_bytes: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition that is sorted by a key, in slices of whole keys.

    answered: called with the rows of one key that fill a slice. It returns the rows to repeat in the next slice, or
    None if the slice must first have more rows of the key.
    """
    held: list[pa.RecordBatch] = []
    max_bytes = max_bytes or _MAX_BYTES
    size, full = 0, max_bytes
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size < full or not batch.num_rows:
            continue
        rows = pa.concat_batches(held)
        keys = keys_of(rows)
        first = int(np.searchsorted(keys, keys[-1]))
        rest = rows.slice(first) if first else answered(rows)
        if rest is not None:
            yield rows.slice(0, first or rows.num_rows)
        held = [rows if rest is None else rest]
        size = held[0].nbytes
        full = max(max_bytes, 2 * size)  # so that large stored sets are not compared again for a few queries
    if held:
        yield pa.concat_batches(held)


def stored_rows(rows: pa.RecordBatch) -> Flags:
    """Return which rows are stored sets: bool[n]; the others are queries."""
    return np.asarray(_column(rows, "length") == np.asarray(rows.column("tags").value_lengths()))


def first_copies(rows: pa.RecordBatch) -> Flags:
    """Return which rows are stored sets that no other partition and no earlier slice has: bool[n]."""
    return np.asarray(stored_rows(rows) & (_column(rows, "copy") == 0))


def prefixes(rows: pa.RecordBatch, sets: TagSets) -> TagSets:
    """Return the prefix of each row, which is the whole set for a stored one."""
    return sets.prefixes(_column(rows, "length").astype(np.int64))


def _keys(rows: pa.RecordBatch) -> Numbers:
    """Return group and tag of each row as one number, rising: int64[n]."""
    sets = TagSets.from_arrow(rows.column("tags"))
    keys: Numbers = sets.tags[sets.offsets[:-1] + _column(rows, "length") - 1].astype(np.int64)
    if "group" in rows.schema.names:
        keys += _column(rows, "group").astype(np.int64) << 32
    return keys


def _answered(rows: pa.RecordBatch) -> pa.RecordBatch | None:
    """Return the stored sets of one group and tag as copies; None if there may be more of them."""
    is_stored = stored_rows(rows)
    if is_stored[-1]:
        return None
    stored = rows.filter(pa.array(is_stored))
    copy = rows.schema.get_field_index("copy")
    return stored.set_column(copy, rows.schema.field(copy), pa.array(np.ones(stored.num_rows, dtype=np.int32)))


def _column(rows: pa.RecordBatch, name: str) -> NDArray[Any]:
    return np.asarray(rows.column(name))
