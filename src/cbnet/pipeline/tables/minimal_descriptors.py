"""Minimal descriptors of groups with hundreds of millions of descriptors.

Groups are interfaces or nodes. Most are small, with fewer rows than a partition has on average:

    1  each input partition          drop the sets that are redundant there: most of them
    2  by group                      drop the sets that are redundant

The largest is far larger than the others, so large groups are split: descriptors are compared in the partition of the
rarest tag, the last one. A subset of {1, 4, 9} has its rarest tag among 1, 4 and 9:

    1  each input partition          as above
    2  by (group, rarest tag)        drop the sets that are redundant there
    3  {1, 4, 9} is stored at (group, 9), and its prefixes are queries:
            at (group, 4)            is there a subset of {1, 4}?
            at (group, 1)            is there a subset of {1}?
    4  drop the sets for which any query found a subset

Exact, because every subset of {1, 4, 9} has been compared with it in 3, at its own rarest tag: 1 and 2 only save work.
Nothing is collected but the number of rows of each node, and no task holds a partition: see `subset_queries` for slices
of whole groups, and for the balance and the memory of step 3. The result does not depend on the number of partitions.

All of it works on several trees at once: a mask has a bit for each tree (`matching.minimal_sets`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from math import ceil
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.matching.minimal_sets import Masks, Tags, TagSets, first_equal, minimal_masks, subset_masks
from cbnet.pipeline.schemas import ANSWERS, GROUPED, record_batch
from cbnet.pipeline.spark.parallelism import partitions_for
from cbnet.pipeline.tables.router_interfaces import Counts, Targets
from cbnet.pipeline.tables.subset_queries import (
    first_copies,
    prefixes,
    slices,
    slices_by,
    spread_queries,
    stored_rows,
)

Loads: TypeAlias = NDArray[np.float64]

_MAX_HELD = 1 << 20  # descriptors that a task holds in steps 1 and 2: some 30 MB


def minimal_descriptors(rows: DataFrame, targets: Targets, partitions: int | None = None) -> DataFrame:
    """Return the descriptors of each group that are minimal on some tree, each once: ANSWERS.

    rows: `node`, `tags` (rising; rows without tags are left out); their nodes are counted at once. `trees` are those
    on which a descriptor is in the group, `covered` those on which it is redundant.
    """
    counts = group_counts(rows, targets)
    partitions = partitions or partitions_for(rows.sparkSession, int(counts.sum()))
    # In partitions of average size.
    loads = np.asarray(counts * (partitions / max(1, int(counts.sum()))), dtype=np.float64)
    is_small = loads < 1
    parts = [
        minimal(_rows_with(rows, chosen), chosen, np.where(is_chosen, loads, 0.0))
        for is_chosen, minimal in ((is_small, _of_small_groups), (~is_small, _of_large_groups))
        if is_chosen.any()
        for chosen in [targets.of_groups(is_chosen)]
    ]
    return reduce(DataFrame.unionByName, parts or [_of_small_groups(rows, targets, loads)])


def _rows_with(rows: DataFrame, targets: Targets) -> DataFrame:
    """Return the rows of nodes that have a target: `node`, `tags`."""
    has_target = np.diff(targets.offsets) > 0
    rows = rows.select("node", "tags")
    if has_target.all():
        return rows
    nodes = pa.table({"node": pa.array(np.flatnonzero(has_target).astype(np.int32))})
    return rows.join(F.broadcast(rows.sparkSession.createDataFrame(nodes)), "node", "left_semi")


def _of_small_groups(rows: DataFrame, targets: Targets, loads: Loads) -> DataFrame:
    reduced = rows.mapInArrow(partial(_reduce_input, targets=targets), GROUPED)
    by_group = reduced.repartition(max(1, ceil(loads.sum())), "group").sortWithinPartitions("group")
    return by_group.mapInArrow(_minimal_of_groups, ANSWERS)


def _of_large_groups(rows: DataFrame, targets: Targets, loads: Loads) -> DataFrame:
    partitions = max(1, ceil(loads.sum()))
    reduced = rows.mapInArrow(partial(_reduce_input, targets=targets), GROUPED)
    by_rarest = reduced.repartition(partitions, "group", F.element_at("tags", -1))
    kept = covered_on_trees(by_rarest.mapInArrow(_reduce_again, GROUPED), partitions, loads)
    return kept.where(F.expr("trees & ~covered") != 0)


def covered_on_trees(sets: DataFrame, partitions: int, loads: Loads | None = None) -> DataFrame:
    """Return the sets of each group with the trees on which another set of the group covers them: ANSWERS.

    sets: GROUPED. loads: the rows of the groups, in partitions of average size, if one may have several.
    """
    sets, load = (sets, None) if loads is None else _with_loads(sets, loads)
    queries = spread_queries(sets, partitions, load)
    answers = queries.select("group", "tags", "trees", "length", "copy").mapInArrow(_answer, ANSWERS)
    unions = [F.bit_or(column).alias(column) for column in ("trees", "covered")]
    return answers.repartition(partitions, "group", "tags").groupBy("group", "tags").agg(*unions)


def group_counts(rows: DataFrame, targets: Targets) -> Counts:
    """Return the number of rows of each group: int64[groups]; one row per node is collected."""
    counted = rows.groupBy("node").count().toArrow()
    by_node = np.zeros(len(targets.offsets) - 1, dtype=np.int64)
    by_node[np.asarray(counted["node"])] = np.asarray(counted["count"])
    counts = np.zeros(int(targets.groups.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(counts, targets.groups, np.repeat(by_node, np.diff(targets.offsets)))
    return counts


def _with_loads(sets: DataFrame, loads: Loads) -> tuple[DataFrame, Column | None]:
    """Return sets with the `load` of each group that has more rows than two partitions, and its column, if any has."""
    large = np.flatnonzero(loads >= 2)
    if not len(large):
        return sets, None
    table = pa.table({"group": pa.array(large.astype(np.int32)), "load": pa.array(loads[large])})
    return sets.join(F.broadcast(sets.sparkSession.createDataFrame(table)), "group", "left"), F.col("load")


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
        return record_batch(GROUPED, self.groups, self.sets.to_arrow(), self.masks.view(np.int64))

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


def _minimal_of_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the minimal sets of groups, each once, from rows that are sorted by group."""
    for batch in slices_by("group", batches):
        rows = reduced([DescriptorRows.of(batch)])
        firsts = first_equal(rows.sets, rows.groups)  # equal sets may be left on different trees
        masks = np.zeros(len(rows), dtype=np.uint64)
        np.bitwise_or.at(masks, firsts, rows.masks)
        kept = np.flatnonzero(masks)
        groups, sets, masks = rows.groups[kept], rows.sets.take(kept), masks[kept]
        covered = subset_masks(groups, sets, masks, groups, sets, sets.sizes - 1)
        yield record_batch(ANSWERS, groups, sets.to_arrow(), masks.view(np.int64), covered.view(np.int64))


def _reduce_input(batches: Iterator[pa.RecordBatch], targets: Targets) -> Iterator[pa.RecordBatch]:
    """Yield the rows of nodes in their groups, without most of those that are redundant."""
    parts = (_with_targets(_array(batch, 0), TagSets.from_arrow(batch.column(1)), targets) for batch in batches)
    return _reduce(chain.from_iterable(parts))


def _reduce_again(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of groups without most of those that are redundant."""
    return _reduce(map(DescriptorRows.of, batches))


def _reduce(parts: Iterator[DescriptorRows]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are not redundant in a partition, or among as many of its rows as may be held."""
    held: list[DescriptorRows] = []
    for part in parts:
        held.append(part)
        if sum(map(len, held)) >= _MAX_HELD:
            held = [reduced(held)]
            if len(held[0]) >= _MAX_HELD // 2:
                yield held.pop().to_arrow()
    yield reduced(held).to_arrow()


def _with_targets(nodes: Tags, sets: TagSets, targets: Targets) -> Iterator[DescriptorRows]:
    """Yield every row that has tags, once for each target of its node, in parts that may be held."""
    counts = np.where(sets.sizes > 0, targets.offsets[nodes + 1] - targets.offsets[nodes], 0)
    cuts = np.flatnonzero(np.diff(np.cumsum(counts) // _MAX_HELD)) + 1
    for part in np.split(np.arange(len(nodes)), cuts):
        rows, begins = np.repeat(part, counts[part]), np.cumsum(counts[part]) - counts[part]
        index = np.arange(len(rows)) + np.repeat(targets.offsets[nodes[part]] - begins, counts[part])
        yield DescriptorRows(targets.groups[index], sets.take(rows), targets.masks[index])


def _answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the stored sets, and the queries with a subset here; with the trees on which there is one."""
    for batch in slices(batches):
        rows = DescriptorRows.of(batch)
        groups, sets, masks = rows.groups, rows.sets, rows.masks
        is_stored = stored_rows(batch)
        stored = np.flatnonzero(is_stored)
        covered = subset_masks(
            groups[stored], sets.take(stored), masks[stored], groups, prefixes(batch, sets), sets.sizes - 1
        )
        answered = np.flatnonzero(first_copies(batch) | ~is_stored & (covered != 0))
        yield record_batch(
            ANSWERS,
            groups[answered],
            sets.take(answered).to_arrow(),
            masks[answered].view(np.int64),
            covered[answered].view(np.int64),
        )


def _array(batch: pa.RecordBatch, column: int) -> NDArray[Any]:
    return np.asarray(batch.column(column))
