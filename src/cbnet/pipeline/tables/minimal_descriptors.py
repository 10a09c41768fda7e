"""Minimal descriptors of groups with hundreds of millions of descriptors.

Groups are interfaces or nodes. The largest is far larger than the others, so groups are split: descriptors are compared
in the partition of the rarest tag, the last one. A subset of {1, 4, 9} has its rarest tag among 1, 4 and 9:

    1  each input partition          drop the sets that are redundant there: most of them
    2  by (group, rarest tag)        drop the sets that are redundant there
    3  {1, 4, 9} is stored at (group, 9), and its prefixes are queries:
            at (group, 4)            is there a subset of {1, 4}?
            at (group, 1)            is there a subset of {1}?
    4  drop the sets for which any query found a subset

Exact, because every subset of {1, 4, 9} has been compared with it: in 2 if it has 9, else in 3 at its own rarest tag.
Nothing is collected, and the result does not depend on the number of partitions. A tag of half of all sets gets the
queries of half of them: for the most frequent tags, the stored sets are copied to several partitions, and a query goes
to one of them.

All of it works on several trees at once: a mask has a bit for each tree (`matching.minimal_sets`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.matching.minimal_sets import Masks, minimal_masks, subset_masks
from cbnet.matching.storage.tag_sets import Tags, TagSets
from cbnet.pipeline.schemas import ANSWERS, GROUPED, arrow_schema
from cbnet.pipeline.spark.parallelism import shuffle_partitions
from cbnet.pipeline.tables.router_interfaces import Targets

_MAX_HELD = 1 << 20  # descriptors that a task holds in step 1: some 30 MB
# Tag n has at most one (n+1)-th of all occurrences of tags, so tags from this number on get few queries.
_FREQUENT = 32
_COPIES = 16


def minimal_descriptors(rows: DataFrame, targets: Targets, partitions: int | None = None) -> DataFrame:
    """Return the descriptors of each group that are minimal on some tree, each once: ANSWERS.

    rows: `node`, `tags` (rising; rows without tags are left out). `trees` are those on which a descriptor is in the
    group, `covered` those on which it is redundant.
    """
    partitions = partitions or shuffle_partitions(rows.sparkSession)
    reduced = rows.select("node", "tags").mapInArrow(partial(_reduce_parts, targets=targets), GROUPED)
    by_rarest = reduced.repartition(partitions, "group", F.element_at("tags", -1))
    kept = covered_on_trees(by_rarest.mapInArrow(_reduce_whole, GROUPED), partitions)
    return kept.where(F.expr("trees & ~covered") != 0)


def covered_on_trees(sets: DataFrame, partitions: int | None = None) -> DataFrame:
    """Return the sets of each group with the trees on which another set of the group covers them: ANSWERS.

    sets: GROUPED, each once in its group.
    """
    partitions = partitions or shuffle_partitions(sets.sparkSession)
    sent = with_prefixes(sets)
    queries = sent.repartition(partitions, "group", F.element_at("tags", F.col("length")), "copy")
    answers = queries.select("group", "tags", "trees", "length", "copy").mapInArrow(_answer, ANSWERS)
    unions = [F.bit_or(column).alias(column) for column in ("trees", "covered")]
    return answers.groupBy("group", "tags").agg(*unions)


def with_prefixes(sets: DataFrame) -> DataFrame:
    """Return every set once for each of its prefixes, with the prefix's `length`; its last tag chooses the partition.

    The whole set is stored in that partition; a shorter prefix is a query. `copy` numbers the partitions of a frequent
    tag.
    """
    sent = sets.withColumn("length", F.explode(F.sequence(F.lit(1), F.size("tags"))))
    is_frequent = F.element_at("tags", F.col("length")) < _FREQUENT
    return sent.withColumn("copy", F.explode(F.when(is_frequent, _copies()).otherwise(F.array(F.lit(0)))))


def _copies() -> Column:
    is_stored = F.col("length") == F.size("tags")
    one = F.pmod(F.xxhash64("tags"), F.lit(_COPIES)).cast("int")
    return F.when(is_stored, F.sequence(F.lit(0), F.lit(_COPIES - 1))).otherwise(F.array(one))


@dataclass(frozen=True, eq=False)
class DescriptorRows:
    """Descriptors with their groups and trees."""

    groups: Tags
    sets: TagSets
    masks: Masks

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> DescriptorRows:
        """Return the rows of a batch that begins as GROUPED does."""
        return cls(_array(batch, 0), TagSets.from_arrow(batch.column(1)), _array(batch, 2).view(np.uint64))

    def to_arrow(self) -> pa.RecordBatch:
        """Return a batch of GROUPED."""
        columns = [pa.array(self.groups), self.sets.to_arrow(), pa.array(self.masks.view(np.int64))]
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(GROUPED))

    def __len__(self) -> int:
        return len(self.groups)


def reduced(parts: Sequence[DescriptorRows]) -> DescriptorRows:
    """Return the rows of several parts that are not redundant on some tree."""
    groups = np.concatenate([np.zeros(0, dtype=np.int32), *(part.groups for part in parts)])
    masks = np.concatenate([np.zeros(0, dtype=np.uint64), *(part.masks for part in parts)])
    sets = TagSets.concatenate([part.sets for part in parts])
    left = minimal_masks(groups, sets, masks)
    kept = np.flatnonzero(left)
    return DescriptorRows(groups[kept], sets.take(kept), left[kept])


def _reduce_parts(batches: Iterator[pa.RecordBatch], targets: Targets) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are not redundant in a partition, or among as many of its rows as may be held."""
    held: list[DescriptorRows] = []
    for batch in batches:
        held.append(_with_targets(_array(batch, 0), TagSets.from_arrow(batch.column(1)), targets))
        if sum(map(len, held)) >= _MAX_HELD:
            held = [reduced(held)]
            if len(held[0]) >= _MAX_HELD // 2:
                yield held.pop().to_arrow()
    yield reduced(held).to_arrow()


def _with_targets(nodes: Tags, sets: TagSets, targets: Targets) -> DescriptorRows:
    """Return every row that has tags, once for each target of its node."""
    counts = np.where(sets.sizes > 0, targets.offsets[nodes + 1] - targets.offsets[nodes], 0)
    rows = np.repeat(np.arange(len(nodes)), counts)
    index = np.arange(len(rows)) + np.repeat(targets.offsets[nodes] - (np.cumsum(counts) - counts), counts)
    return DescriptorRows(targets.groups[index], sets.take(rows), targets.masks[index])


def _reduce_whole(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are not redundant in a partition."""
    yield reduced([DescriptorRows.of(batch) for batch in batches]).to_arrow()


def _answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the stored sets, and the queries with a subset here; with the trees on which there is one."""
    batch = concatenated(batches)
    if batch is None:
        return
    rows = DescriptorRows.of(batch)
    groups, sets, masks = rows.groups, rows.sets, rows.masks
    lengths, copies = _array(batch, 3).astype(np.int64), _array(batch, 4)
    is_stored = lengths == sets.sizes
    stored = np.flatnonzero(is_stored)
    covered = subset_masks(
        groups[stored], sets.take(stored), masks[stored], groups, sets.prefixes(lengths), sets.sizes - 1
    )
    answered = np.flatnonzero(is_stored & (copies == 0) | ~is_stored & (covered != 0))
    columns = [
        groups[answered],
        sets.take(answered).to_arrow(),
        masks[answered].view(np.int64),
        covered[answered].view(np.int64),
    ]
    yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=arrow_schema(ANSWERS))


def concatenated(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """Return all batches as one; None without rows."""
    filled = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(filled).combine_chunks().to_batches()[0] if filled else None


def _array(batch: pa.RecordBatch, column: int) -> NDArray[Any]:
    return np.asarray(batch.column(column))
