"""The minimal job: which descriptors of a group hold no other one of it, when there are hundreds of millions?

Groups are interfaces, or nodes. The largest is far larger than the others, so a group is never kept together: what is
compared meets by its rarest tag, the last one. A descriptor that covers {1, 4, 9} has its rarest tag among 1, 4 and 9:

    1  in each part of the input     drop what is covered there: most of it
    2  to (group, rarest tag)        drop what is covered there
    3  {1, 4, 9} stays at (group, 9), and asks
            at (group, 4)            is anything inside {1, 4}?
            at (group, 1)            is anything inside {1}?
    4  what was covered anywhere is dropped

Exact, because whatever is inside {1, 4, 9} has met it: in 2 if it has 9, else in 3 at its own rarest tag. Nothing is
collected, and the result does not depend on the number of parts. A tag that is in half of all sets is asked for by half
of them: for the most frequent tags, what stays is copied to several places, and a question goes to one of them.

Everything is done on each of several trees at once; see `containment`.
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

from cbnet.pipeline.schemas import ANSWERS, GROUPED, arrow_schema
from cbnet.pipeline.spark.partitions import shuffle_partitions
from cbnet.pipeline.tables.containment import Masks, covered, uncovered
from cbnet.pipeline.tables.tag_sets import Tags, TagSets
from cbnet.pipeline.tables.tree_targets import Targets

_HELD = 1 << 20  # descriptors that a task holds in step 1: some 30 MB
# A tag with the number n is in at most one (n+1)-th of all places of tags: one behind these is asked for by few sets.
_FREQUENT = 32
_COPIES = 16


def minimal_descriptors(rows: DataFrame, targets: Targets, partitions: int | None = None) -> DataFrame:
    """Return the descriptors of each group that are minimal on some tree, each once: ANSWERS.

    rows: `node`, `tags` (rising; rows without tags are left out). `trees` are those on which a descriptor is in the
    group, `covered` those on which another makes it redundant.
    """
    partitions = partitions or shuffle_partitions(rows.sparkSession)
    reduced = rows.select("node", "tags").mapInArrow(partial(_reduce_parts, targets=targets), GROUPED)
    met = reduced.repartition(partitions, "group", F.element_at("tags", -1))
    sent = questions(met.mapInArrow(_reduce_whole, GROUPED))
    asked = sent.repartition(partitions, "group", F.element_at("tags", F.col("length")), "copy")
    answers = asked.select("group", "tags", "trees", "length", "copy").mapInArrow(_answer, ANSWERS)
    unions = [F.bit_or(column).alias(column) for column in ("trees", "covered")]
    return answers.groupBy("group", "tags").agg(*unions).where(F.expr("trees & ~covered") != 0)


def questions(sets: DataFrame) -> DataFrame:
    """Return every set once for each of its tags, with `length`: so many of its tags go to the place of the last.

    With all its tags, a set stays at that place; else it only asks there. `copy` tells the places of a frequent tag
    apart.
    """
    sent = sets.withColumn("length", F.explode(F.sequence(F.lit(1), F.size("tags"))))
    is_frequent = F.element_at("tags", F.col("length")) < _FREQUENT
    return sent.withColumn("copy", F.explode(F.when(is_frequent, _copies()).otherwise(F.array(F.lit(0)))))


def _copies() -> Column:
    stays = F.col("length") == F.size("tags")
    one = F.pmod(F.xxhash64("tags"), F.lit(_COPIES)).cast("int")
    return F.when(stays, F.sequence(F.lit(0), F.lit(_COPIES - 1))).otherwise(F.array(one))


@dataclass(frozen=True, eq=False)
class Rows:
    """Descriptors with their groups and trees."""

    groups: Tags
    sets: TagSets
    masks: Masks

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> Rows:
        """Return the rows of a batch that begins as GROUPED does."""
        return cls(_array(batch, 0), TagSets.from_arrow(batch.column(1)), _array(batch, 2).view(np.uint64))

    def to_arrow(self) -> pa.RecordBatch:
        """Return a batch of GROUPED."""
        columns = [pa.array(self.groups), self.sets.to_arrow(), pa.array(self.masks.view(np.int64))]
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(GROUPED))

    def __len__(self) -> int:
        return len(self.groups)


def reduced(parts: Sequence[Rows]) -> Rows:
    """Return what is not covered among all rows of several."""
    groups = np.concatenate([np.zeros(0, dtype=np.int32), *(part.groups for part in parts)])
    masks = np.concatenate([np.zeros(0, dtype=np.uint64), *(part.masks for part in parts)])
    sets = TagSets.concatenate([part.sets for part in parts])
    left = uncovered(groups, sets, masks)
    kept = np.flatnonzero(left)
    return Rows(groups[kept], sets.take(kept), left[kept])


def _reduce_parts(batches: Iterator[pa.RecordBatch], targets: Targets) -> Iterator[pa.RecordBatch]:
    """Yield what is not covered among the rows of a part, or among as many of them as may be held."""
    held: list[Rows] = []
    for batch in batches:
        held.append(_aimed(_array(batch, 0), TagSets.from_arrow(batch.column(1)), targets))
        if sum(map(len, held)) >= _HELD:
            held = [reduced(held)]
            if len(held[0]) >= _HELD // 2:
                yield held.pop().to_arrow()
    yield reduced(held).to_arrow()


def _aimed(nodes: Tags, sets: TagSets, targets: Targets) -> Rows:
    """Return every row with tags once for each target of its node."""
    counts = np.where(sets.sizes > 0, targets.offsets[nodes + 1] - targets.offsets[nodes], 0)
    rows = np.repeat(np.arange(len(nodes)), counts)
    places = np.arange(len(rows)) + np.repeat(targets.offsets[nodes] - (np.cumsum(counts) - counts), counts)
    return Rows(targets.groups[places], sets.take(rows), targets.masks[places])


def _reduce_whole(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield what is not covered among all rows of a part."""
    yield reduced([Rows.of(batch) for batch in batches]).to_arrow()


def _answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield every set that stays here, and those that ask and are covered; with the trees on which others cover it."""
    batch = joined(batches)
    if batch is None:
        return
    rows = Rows.of(batch)
    groups, sets, masks = rows.groups, rows.sets, rows.masks
    lengths, copies = _array(batch, 3).astype(np.int64), _array(batch, 4)
    stays = lengths == sets.sizes
    here = np.flatnonzero(stays)
    by = covered(groups[here], sets.take(here), masks[here], groups, sets.prefixes(lengths), sets.sizes - 1)
    told = np.flatnonzero(stays & (copies == 0) | ~stays & (by != 0))
    columns = [groups[told], sets.take(told).to_arrow(), masks[told].view(np.int64), by[told].view(np.int64)]
    yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=arrow_schema(ANSWERS))


def joined(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """Return all batches as one; None if there are no rows."""
    found = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(found).combine_chunks().to_batches()[0] if found else None


def _array(batch: pa.RecordBatch, column: int) -> NDArray[Any]:
    return np.asarray(batch.column(column))
