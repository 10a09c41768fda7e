"""Table sizes of every router of a tree, counted without building a table [2014 Table 1, for all routers].

The marks of `routing.sizing.edge_counts` are computed in parts. Owners are compared as descriptors are in
`minimal_descriptors`: a descriptor is sent with its owners to the partition of each of its tags, which finds, for each
owner, the lowest common ancestor with an owner of a subset there. All numbers are exact; no task holds a partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.matching.minimal_sets import TagSets, first_equal
from cbnet.pipeline.schemas import MARKS, TOPS, record_batch
from cbnet.pipeline.spark.parallelism import partitions_for
from cbnet.pipeline.tables.subset_queries import (
    first_copies,
    prefixes,
    slices,
    slices_by,
    spread_queries,
    stored_rows,
)
from cbnet.routing.sizing.edge_counts import NONE, EdgeCounts, SubsetOwners, edge_marks
from cbnet.topology import Tree
from cbnet.topology.common_ancestors import CommonAncestors


def minimal_counts(predicates: DataFrame, tree: Tree, partitions: int | None = None) -> EdgeCounts:
    """Return the number of minimal descriptors behind every edge; predicates: those of the nodes, PREDICATES."""
    ancestors = CommonAncestors.of(tree)
    answers = subset_owners(predicates, tree, ancestors, partitions)
    return _counts(answers.mapInArrow(partial(_mark_minimal, ancestors=ancestors), MARKS), tree)


def subset_owners(
    predicates: DataFrame, tree: Tree, ancestors: CommonAncestors, partitions: int | None = None
) -> DataFrame:
    """Return the answers about every set, to be read by `slices_by` and `merged_answers`: TOPS and `hash`."""
    partitions = partitions or partitions_for(predicates.sparkSession, predicates.count())
    queries = spread_queries(_with_owners(predicates, tree, partitions), partitions, F.lit(float(partitions)))
    columns = queries.select("tags", "positions", "length", "copy")
    answers = columns.mapInArrow(partial(_find_subset_owners, ancestors=ancestors), TOPS)
    return answers.withColumn("hash", F.xxhash64("tags")).repartition(partitions, "hash").sortWithinPartitions("hash")


def distinct_counts(population: DataFrame, tree: Tree, partitions: int | None = None) -> EdgeCounts:
    """Return the number of distinct descriptors behind every edge; population: `node`, `tags`."""
    partitions = partitions or partitions_for(population.sparkSession, population.count())
    owned = _with_owners(population.where(F.size("tags") > 0), tree, partitions)
    return _counts(owned.mapInArrow(partial(_mark_distinct, ancestors=CommonAncestors.of(tree)), MARKS), tree)


def _with_owners(rows: DataFrame, tree: Tree, partitions: int) -> DataFrame:
    """Return every set once, with the positions of its owners in preorder, rising: `tags`, `positions`."""
    nodes = pa.table(
        {"node": pa.array(tree.preorder), "position": pa.array(np.arange(len(tree.preorder), dtype=np.int32))}
    )
    positioned = rows.select("node", "tags").join(F.broadcast(rows.sparkSession.createDataFrame(nodes)), "node")
    return (
        positioned.repartition(partitions, "tags")
        .groupBy("tags")
        .agg(F.sort_array(F.collect_set("position")).alias("positions"))
    )


def _find_subset_owners(batches: Iterator[pa.RecordBatch], ancestors: CommonAncestors) -> Iterator[pa.RecordBatch]:
    """Yield the owners of subsets of each set in this partition, relative to the owners of the set."""
    for rows in slices(batches):
        sets, owners = TagSets.from_arrow(rows.column(0)), TagSets.from_arrow(rows.column(1))
        is_stored, first = stored_rows(rows), first_copies(rows)  # only the first copy carries the owners
        stored = np.flatnonzero(is_stored)
        inner = SubsetOwners.find(
            sets.take(stored), owners.take(stored), prefixes(rows, sets), owners, ancestors, sets.sizes - 1
        )
        answered = np.flatnonzero(first | ~is_stored & (inner.firsts != NONE))
        yield record_batch(
            TOPS,
            sets.take(answered).to_arrow(),
            owners.prefixes(np.where(first, owners.sizes, 0)).take(answered).to_arrow(),
            TagSets(owners.offsets, inner.tops).take(answered).to_arrow(),
            inner.firsts[answered],
            inner.lasts[answered],
        )


def _mark_minimal(batches: Iterator[pa.RecordBatch], ancestors: CommonAncestors) -> Iterator[pa.RecordBatch]:
    """Yield the marks of sets, from all answers about them."""
    for rows in slices_by("hash", batches):
        _, owners, inner = merged_answers(rows, len(ancestors))
        yield _marks(owners, inner, ancestors)


def merged_answers(rows: pa.RecordBatch, positions: int) -> tuple[TagSets, TagSets, SubsetOwners]:
    """Return the sets of all answers, their owners, and those of their subsets; positions: the number of them."""
    sets, known, tops = (TagSets.from_arrow(rows.column(column)) for column in range(3))
    firsts, lasts = (np.asarray(rows.column(column)) for column in (3, 4))
    equal = first_equal(sets)
    with_owners = np.flatnonzero(known.sizes)  # one row of each set
    number = np.empty(len(sets), dtype=np.int64)
    number[equal[with_owners]] = np.arange(len(with_owners))
    number = number[equal]
    owners = known.take(with_owners)
    lowest = np.full(len(owners.tags), NONE, dtype=np.int64)
    index = np.arange(len(tops.tags)) + np.repeat(owners.offsets[number] - tops.offsets[:-1], tops.sizes)
    np.maximum.at(lowest, index, tops.tags)
    begin, end = np.full(len(with_owners), positions), np.full(len(with_owners), NONE)
    inner = np.flatnonzero(firsts != NONE)
    np.minimum.at(begin, number[inner], firsts[inner])
    np.maximum.at(end, number[inner], lasts[inner])
    return sets.take(with_owners), owners, SubsetOwners(lowest, begin, end)


def _mark_distinct(batches: Iterator[pa.RecordBatch], ancestors: CommonAncestors) -> Iterator[pa.RecordBatch]:
    """Yield the marks of sets, as if no set were redundant."""
    for batch in batches:
        owners = TagSets.from_arrow(batch.column(1))
        yield _marks(owners, SubsetOwners.none(owners), ancestors)


def _marks(owners: TagSets, inner: SubsetOwners, ancestors: CommonAncestors) -> pa.RecordBatch:
    """Return the marks that are not 0: MARKS."""
    marks = edge_marks(owners, inner, ancestors)
    marked = np.flatnonzero(marks.any(axis=0))
    return record_batch(MARKS, marked, *marks[:, marked])


def _counts(marks: DataFrame, tree: Tree) -> EdgeCounts:
    """Add up the marks of all sets; at most one row per node is collected."""
    sums = np.zeros((2, len(tree.preorder)), dtype=np.int64)
    for position, below, above in marks.groupBy("position").agg(F.sum("below"), F.sum("above")).collect():
        sums[:, position] = below, above
    return EdgeCounts.from_marks(tree, sums)
