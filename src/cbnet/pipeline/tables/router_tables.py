"""The forwarding tables of every router on every tree, stored as what differs between neighbours of a tree.

    descriptors   7  {1, 4}  minimal           every distinct descriptor of the nodes once, with a number
    marks         tree 0, position 12:         the marks of `routing.sizing.edge_counts`, of single descriptors
                  descriptor 7  +1 below

The sum of a descriptor's marks below a node is 1 if the parent's interface to this node has the descriptor, else 0.
That sum, subtracted from 1 for a descriptor that is minimal in the whole network and from 0 for any other, is the same
for the node's interface to its parent. A descriptor has few marks, however many routers have it; those at the root are
left out.

So the table of a router is read from the marks below it. A *branch* is what lies behind an interface of a router on one
tree. Both kinds are given by an interval of positions:

    behind a child       the positions of the child and of all below it         sum of the marks `below`
    behind the parent    all but the positions of the router and of all below   minimal descriptors of the network,
                                                                                minus the sum of the marks `above`

The marks of a tree are in ranges of positions, so that few files have the marks below a router. The marks at its own
position are those of its own descriptors, which are behind no interface of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import count

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.matching.minimal_sets import TagSets
from cbnet.pipeline.schemas import BRANCH_MARKS, ENTRIES, GROUPED, NUMBERED, ROUTER_TABLES, SET_MARKS, record_batch
from cbnet.pipeline.spark.parallelism import partitions_for
from cbnet.pipeline.tables.fib import folded, named
from cbnet.pipeline.tables.minimal_descriptors import covered_on_trees, minimal_descriptors
from cbnet.pipeline.tables.router_interfaces import Targets
from cbnet.pipeline.tables.subset_queries import slices_by
from cbnet.pipeline.tables.tree_counts import merged_answers, subset_owners
from cbnet.routing.sizing.edge_counts import SetMarks
from cbnet.topology import ROOT, Tree
from cbnet.topology.common_ancestors import CommonAncestors


def numbered_descriptors(predicates: DataFrame, nodes: int, partitions: int | None = None) -> DataFrame:
    """Return every distinct descriptor once: NUMBERED. predicates: those of the nodes, PREDICATES."""
    minimal = minimal_descriptors(predicates, Targets.of_one_group(nodes), partitions).select("tags", F.lit(True))
    marked = predicates.select("tags").distinct().join(minimal.toDF("tags", "minimal"), "tags", "left")
    numbered = marked.withColumn("descriptor", _number(_free_salt(marked.select("tags"))))
    return numbered.withColumn("minimal", F.coalesce("minimal", F.lit(False))).select(*NUMBERED.names)


def _number(salt: int) -> Column:
    """Return the number of a descriptor: a hash, so that it is the same in every run, whatever the partitions are."""
    return F.xxhash64("tags", F.lit(salt))


def _free_salt(descriptors: DataFrame) -> int:
    """Return the first salt that gives no two descriptors the same number: 0, most likely, up to a billion."""
    for salt in count():
        numbers = descriptors.select(_number(salt).alias("number")).groupBy("number").count()
        if numbers.where(F.col("count") > 1).isEmpty():
            return salt
    raise AssertionError


def descriptor_marks(
    predicates: DataFrame, descriptors: DataFrame, trees: Sequence[Tree], ranges: int, partitions: int | None = None
) -> DataFrame:
    """Return the marks of all descriptors on all trees, by range and position: ROUTER_TABLES.

    descriptors: NUMBERED. ranges: the number of ranges of each tree.
    """
    partitions = partitions or partitions_for(predicates.sparkSession, predicates.count())
    by_tree = [_marks(predicates, tree, partitions).withColumn("tree", F.lit(n)) for n, tree in enumerate(trees)]
    numbered = reduce(DataFrame.unionByName, by_tree).join(descriptors.select("tags", "descriptor"), "tags")
    marks = numbered.select("tree", "descriptor", F.inline(F.arrays_zip("position", "below", "above")))
    number = F.expr(f"cast(position * {ranges}L div {len(trees[0].preorder)} as int)")
    placed = marks.withColumn("range", number).select(*ROUTER_TABLES.names)
    # Rebalanced: a range becomes one file, or several if one node has very many descriptors.
    return placed.hint("rebalance", "tree", "range").sortWithinPartitions("tree", "range", "position", "descriptor")


def _marks(predicates: DataFrame, tree: Tree, partitions: int) -> DataFrame:
    """Return the marks of every set on a tree: SET_MARKS."""
    ancestors = CommonAncestors.of(tree)
    answers = subset_owners(predicates, tree, ancestors, partitions)
    return answers.mapInArrow(partial(_mark_sets, ancestors=ancestors), SET_MARKS)


def _mark_sets(batches: Iterator[pa.RecordBatch], ancestors: CommonAncestors) -> Iterator[pa.RecordBatch]:
    """Yield the marks of sets below the root, from all answers about them."""
    for rows in slices_by("hash", batches):
        sets, owners, inner = merged_answers(rows, len(ancestors))
        marks = SetMarks.of(owners, inner, ancestors)
        below_root = np.flatnonzero(marks.positions > 0)
        offsets = np.searchsorted(marks.sets[below_root], np.arange(len(sets) + 1))
        columns = [
            TagSets(offsets, each[below_root].astype(np.int32)).to_arrow()
            for each in (marks.positions, marks.below, marks.above)
        ]
        yield record_batch(SET_MARKS, sets.to_arrow(), *columns)


@dataclass(frozen=True, eq=False)
class RouterBranches:
    """The branches of several routers on several trees; a position p of tree t is given as t * nodes + p."""

    routers: NDArray[np.int32]  # of each interface
    neighbours: NDArray[np.int32]  # likewise
    groups: NDArray[np.int32]  # of each branch, the number of its interface
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    is_above: NDArray[np.bool_]
    nodes: int

    @classmethod
    def of(cls, trees: Sequence[Tree], routers: Sequence[int], numbers: Sequence[int]) -> RouterBranches:
        """Return the branches of routers on trees; numbers: those of the trees."""
        nodes = len(trees[0].preorder)
        rows = [
            (router, neighbour, number * nodes + int(tree.positions[top]), int(tree.sizes[top]), neighbour != top)
            for number, tree in zip(numbers, trees, strict=True)
            for router in routers
            for neighbour, top in _sides(tree, router)
        ]
        router, neighbour, starts, sizes, is_above = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        interfaces, groups = np.unique(np.stack([router, neighbour]), axis=1, return_inverse=True)
        routers_, neighbours = interfaces.astype(np.int32)
        return cls(
            routers_, neighbours, groups.astype(np.int32), starts, starts + sizes, is_above.astype(np.bool_), nodes
        )

    def ranges(self, count: int) -> list[int]:
        """Return the ranges with positions of these branches, as tree * count + range."""
        tree, first = np.divmod(self.starts, self.nodes)
        last = self.ends - 1 - tree * self.nodes
        spans = np.stack([tree * count + position * count // self.nodes for position in (first, last)], axis=1)
        return sorted({number for begin, end in spans.tolist() for number in range(begin, end + 1)})

    def parents(self) -> list[tuple[int, int]]:
        """Return the interfaces to parents, each with a mask of the trees on which it is one."""
        masks: dict[int, int] = {}
        for group, start in zip(self.groups[self.is_above].tolist(), self.starts[self.is_above].tolist(), strict=True):
            masks[group] = masks.get(group, 0) | 1 << start // self.nodes
        return [*masks.items()]


def _sides(tree: Tree, router: int) -> Iterator[tuple[int, int]]:
    """Yield each neighbour of a router with the root of the subtree behind it, or, for the parent, not behind it."""
    if tree.parents[router] != ROOT:
        yield int(tree.parents[router]), router
    for child in tree.children(router).tolist():
        yield child, child


@dataclass(frozen=True)
class StoredTables:
    """The stored tables of all routers."""

    descriptors: DataFrame  # NUMBERED
    marks: DataFrame  # ROUTER_TABLES
    trees: Sequence[Tree]
    ranges: int

    def of(self, routers: Sequence[int], tree: int | None = None, *, partitions: int | None = None) -> DataFrame:
        """Return the tables of routers on a tree, or folded over all trees as `fib.folded_tables` does: FIB."""
        numbers = [*range(len(self.trees))] if tree is None else [tree]
        branches = RouterBranches.of([self.trees[number] for number in numbers], routers, numbers)
        partitions = partitions or partitions_for(self.marks.sparkSession, len(routers) * self.descriptors.count())
        kept = self._kept(branches, partitions)
        if len(numbers) > 1:
            kept = covered_on_trees(kept, partitions)
            return named(folded([kept], [range(len(numbers))]), branches.routers, branches.neighbours)
        number = F.lit(tree).cast("int")
        return named(kept.withColumn("tree", number), branches.routers, branches.neighbours)

    def entries(self) -> list[int]:
        """Return the number of entries of the tables of all routers, on each tree.

        A mark counts for every node above it but the root; behind the parents of all other nodes, the minimal
        descriptors of the network count as well.
        """
        depths = np.array([tree.hops[tree.preorder] for tree in self.trees])
        columns = self.marks.select("tree", "position", "below", "above")
        sums = columns.mapInArrow(partial(_sum_by_tree, depths=depths), ENTRIES)
        found = {
            row["tree"]: row["entries"] for row in sums.groupBy("tree").agg(F.sum("entries").alias("entries")).collect()
        }
        minimal = (depths.shape[1] - 1) * self.descriptors.where("minimal").count()
        return [found.get(number, 0) + minimal for number in range(len(self.trees))]

    def _kept(self, branches: RouterBranches, partitions: int) -> DataFrame:
        """Return the descriptors of each interface, with the trees on which they are minimal: GROUPED."""
        is_read = (F.col("tree") * self.ranges + F.col("range")).isin(branches.ranges(self.ranges))
        marks = self.marks.where(is_read).select("tree", "position", "descriptor", "below", "above")
        sums = marks.mapInArrow(partial(_branch_marks, branches=branches), BRANCH_MARKS)
        sums = (
            sums.repartition(partitions, "descriptor")
            .groupBy("group", "descriptor", "tree")
            .agg(F.sum("mark").alias("mark"))
        )
        changes = sums.select(
            "group", "descriptor", _nothing().alias("minimal"), _trees(1, "added"), _trees(-1, "removed")
        )
        parents = self.marks.sparkSession.createDataFrame(branches.parents(), "group int, minimal long")
        everywhere = self.descriptors.where("minimal").select("descriptor").crossJoin(F.broadcast(parents))
        both = changes.unionByName(everywhere.withColumns({"added": _nothing(), "removed": _nothing()}))
        unions = [F.bit_or(name).alias(name) for name in ("minimal", "added", "removed")]
        masks = both.repartition(partitions, "descriptor").groupBy("group", "descriptor").agg(*unions)
        kept = masks.withColumn("trees", F.expr("(minimal | added) & ~removed")).where("trees != 0")
        tags = self.descriptors.select("descriptor", "tags").repartition(partitions, "descriptor")
        return kept.join(tags, "descriptor").select(*GROUPED.names)


def _nothing() -> Column:
    return F.lit(0).cast("long")  # not a constant: a column needs a session


def _trees(mark: int, name: str) -> Column:
    """Return the bit of the tree if its marks add up to `mark`, else none."""
    return F.expr(f"if(mark = {mark}, shiftleft(1L, tree), 0L)").alias(name)


def _branch_marks(batches: Iterator[pa.RecordBatch], branches: RouterBranches) -> Iterator[pa.RecordBatch]:
    """Yield the marks of each branch: BRANCH_MARKS. Those behind a parent have the opposite sign."""
    for batch in batches:
        tree, position, descriptor, below, above = (np.asarray(column) for column in batch.columns)
        keys = tree.astype(np.int64) * branches.nodes + position
        order = np.argsort(keys, kind="stable")
        first, last = (np.searchsorted(keys[order], bounds) for bounds in (branches.starts, branches.ends))
        branch = np.repeat(np.arange(len(first)), last - first)
        rows = order[np.arange(len(branch)) - np.repeat(np.cumsum(last - first) - last, last - first)]
        marks = np.where(branches.is_above[branch], -above[rows], below[rows]).astype(np.int32)
        kept = np.flatnonzero(marks)
        rows, branch = rows[kept], branch[kept]
        yield record_batch(BRANCH_MARKS, branches.groups[branch], descriptor[rows], tree[rows], marks[kept])


def _sum_by_tree(batches: Iterator[pa.RecordBatch], depths: NDArray[np.int32]) -> Iterator[pa.RecordBatch]:
    """Yield the sum of the marks of each tree over all nodes above them."""
    sums = np.zeros(len(depths), dtype=np.int64)
    for batch in batches:
        tree, position, below, above = (np.asarray(column).astype(np.int64) for column in batch.columns)
        np.add.at(sums, tree, (below - above) * depths[tree, position])
    yield record_batch(ENTRIES, np.arange(len(sums)), sums)
