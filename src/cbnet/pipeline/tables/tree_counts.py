"""Tree counts: how large is the table of every router of a tree, without building any? [2014 Table 1, for all]

A descriptor is kept behind an edge if an owner of it is there and no owner of one inside it. Let all owners of a
descriptor, and all of those inside it, be marked on the tree:

          ·              o    an owner of {a, b}
         / \\             o'   its next owner in preorder: above where their ways meet, o' is counted
        ·   o'           p    an owner of {a}: from where the ways of o and p meet, {a, b} is redundant
       / \\
      o   p              +1 at o, -1 at the lowest place where its way meets one of these

Added up over all that is below v, that makes 1 if {a, b} is kept below v, and 0 if not: for every v at once. Not below
v, it is kept if all owners of those inside it are below v, but not all of its own: only where they all meet counts.

Owners meet as descriptors do in `minimal_job`: a descriptor goes with its owners to the place of each of its tags, and
learns there, for each owner, the lowest such meeting with owners of what is inside it. All numbers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet._kernels import set_trie as kernel
from cbnet.pipeline.schemas import MARKS, TOPS, arrow_schema
from cbnet.pipeline.spark.partitions import shuffle_partitions
from cbnet.pipeline.tables.ancestry import Minima, meeting, parent_minima
from cbnet.pipeline.tables.containment import first_equal, one_group
from cbnet.pipeline.tables.minimal_descriptors import joined, questions
from cbnet.pipeline.tables.tag_sets import Places, TagSets
from cbnet.topology import Tree

_NONE = -1


@dataclass(frozen=True, eq=False)
class EdgeCounts:
    """Descriptors behind every edge of a tree, in both directions: int64[n] each."""

    below: NDArray[np.int64]  # for each node, at its parent
    above: NDArray[np.int64]  # for the parent of each node, at the node; 0 at the root


def kept_counts(predicates: DataFrame, tree: Tree, partitions: int | None = None) -> EdgeCounts:
    """Return how many minimal descriptors are behind every edge; predicates: those of the nodes, PREDICATES."""
    partitions = partitions or shuffle_partitions(predicates.sparkSession)
    minima = parent_minima(tree)
    sent = questions(_owned(predicates, tree))
    asked = sent.repartition(partitions, F.element_at("tags", F.col("length")), "copy")
    answers = asked.select("tags", "places", "length", "copy").mapInArrow(partial(_find_tops, minima=minima), TOPS)
    marks = answers.repartition(partitions, "tags").mapInArrow(partial(_mark_kept, minima=minima), MARKS)
    return _counts(marks, tree)


def distinct_counts(population: DataFrame, tree: Tree, partitions: int | None = None) -> EdgeCounts:
    """Return how many distinct descriptors are behind every edge; population: `node`, `tags`."""
    owned = _owned(population.where(F.size("tags") > 0), tree)
    if partitions:
        owned = owned.repartition(partitions, "tags")
    return _counts(owned.mapInArrow(partial(_mark_distinct, minima=parent_minima(tree)), MARKS), tree)


def _owned(rows: DataFrame, tree: Tree) -> DataFrame:
    """Return every set once, with the places of its owners, rising: `tags`, `places`."""
    nodes = pa.table(
        {"node": pa.array(tree.preorder), "place": pa.array(np.arange(len(tree.preorder), dtype=np.int32))}
    )
    placed = rows.select("node", "tags").join(F.broadcast(rows.sparkSession.createDataFrame(nodes)), "node")
    return placed.groupBy("tags").agg(F.sort_array(F.collect_set("place")).alias("places"))


def _find_tops(batches: Iterator[pa.RecordBatch], minima: Minima) -> Iterator[pa.RecordBatch]:
    """Yield for each set, owner by owner, where its way meets that of an owner of a set inside it here: the lowest."""
    rows = joined(batches)
    if rows is None:
        return
    sets, owners = TagSets.from_arrow(rows.column(0)), TagSets.from_arrow(rows.column(1))
    lengths, copies = np.asarray(rows.column(2)).astype(np.int64), np.asarray(rows.column(3))
    first = (lengths == sets.sizes) & (copies == 0)
    staying = np.flatnonzero(lengths == sets.sizes)
    here, asked = sets.take(staying), sets.prefixes(lengths)
    tops = np.empty(len(owners.tags), dtype=np.int32)
    firsts, lasts = np.empty((2, len(sets)), dtype=np.int32)
    of_here = owners.take(staying)
    kernel.find_tops(
        one_group(here), here.offsets, here.tags, of_here.offsets, of_here.tags,
        one_group(asked), asked.offsets, asked.tags, owners.offsets, owners.tags,
        sets.sizes - 1, minima, tops, firsts, lasts,
    )  # fmt: skip
    told = np.flatnonzero(first | (lengths < sets.sizes) & (firsts != _NONE))
    known = owners.prefixes(np.where(first, owners.sizes, 0)).take(told)  # once is enough
    found = TagSets(owners.offsets, tops).take(told)
    columns = [sets.take(told).to_arrow(), known.to_arrow(), found.to_arrow(), firsts[told], lasts[told]]
    yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=arrow_schema(TOPS))


def _mark_kept(batches: Iterator[pa.RecordBatch], minima: Minima) -> Iterator[pa.RecordBatch]:
    """Yield what to add at which places, from all answers about sets."""
    rows = joined(batches)
    if rows is None:
        return
    sets, known, tops = (TagSets.from_arrow(rows.column(column)) for column in range(3))
    firsts, lasts = (np.asarray(rows.column(column)) for column in (3, 4))
    equal = first_equal(sets)
    stays = np.flatnonzero(known.sizes)  # each set has one such row
    number = np.empty(len(sets), dtype=np.int64)
    number[equal[stays]] = np.arange(len(stays))
    number = number[equal]
    owners = known.take(stays)
    lowest = np.full(len(owners.tags), _NONE, dtype=np.int64)
    places = np.arange(len(tops.tags)) + np.repeat(owners.offsets[number] - tops.offsets[:-1], tops.sizes)
    np.maximum.at(lowest, places, tops.tags)
    begin, end = np.full(len(stays), minima.shape[1]), np.full(len(stays), _NONE)
    inner = np.flatnonzero(firsts != _NONE)
    np.minimum.at(begin, number[inner], firsts[inner])
    np.maximum.at(end, number[inner], lasts[inner])
    yield _marks(owners, lowest, begin, end, minima)


def _mark_distinct(batches: Iterator[pa.RecordBatch], minima: Minima) -> Iterator[pa.RecordBatch]:
    """Yield what to add at which places, if nothing is ever redundant."""
    for batch in batches:
        owners = TagSets.from_arrow(batch.column(1))
        nothing = np.full(len(owners), minima.shape[1]), np.full(len(owners), _NONE)
        yield _marks(owners, np.full(len(owners.tags), _NONE), *nothing, minima)


def _marks(owners: TagSets, tops: Places, begin: Places, end: Places, minima: Minima) -> pa.RecordBatch:
    """Return the marks of sets.

    owners: their places. tops: of each owner, the lowest meeting with what is inside its set. begin, end: the first and
    last place of the owners of what is inside each set; the end is _NONE where there are none.
    """
    places = owners.tags.astype(np.int64)
    followed = np.flatnonzero(np.diff(owners.rows) == 0)
    stops = tops.astype(np.int64)
    stops[followed] = np.maximum(stops[followed], meeting(minima, places[followed], places[followed + 1]))
    count = minima.shape[1]
    below = _count(places, count) - _count(stops[stops != _NONE], count)
    first, last = places[owners.offsets[:-1]], places[owners.offsets[1:] - 1]
    inside = np.flatnonzero(end != _NONE)
    above = _count(meeting(minima, np.minimum(first, begin), np.maximum(last, end)), count)
    above -= _count(meeting(minima, begin[inside], end[inside]), count)
    marked = np.flatnonzero((below != 0) | (above != 0))
    columns = [marked.astype(np.int32), below[marked], above[marked]]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=arrow_schema(MARKS))


def _count(places: Places, count: int) -> Places:
    return np.bincount(places, minlength=count).astype(np.int64)


def _counts(marks: DataFrame, tree: Tree) -> EdgeCounts:
    """Add up the marks of all sets: one row for a place at most, so no more than nodes."""
    below, above = np.zeros((2, len(tree.preorder)), dtype=np.int64)
    for place, low, high in marks.groupBy("place").agg(F.sum("below"), F.sum("above")).collect():
        below[place], above[place] = low, high
    behind_parent = above.sum() - sums_below(tree, above)
    return EdgeCounts(sums_below(tree, below), np.where(tree.parents >= 0, behind_parent, 0))


def sums_below(tree: Tree, of_places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of what is at the place of each node and below: int64[n]; 0 for nodes that are not reached."""
    sums = np.concatenate([[0], np.cumsum(of_places)])
    return np.where(tree.positions >= 0, sums[tree.positions + tree.sizes] - sums[tree.positions], 0)
