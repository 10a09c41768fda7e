"""The forwarding tables of every router on every tree, stored as what differs between neighbours of a tree.

    descriptors   7  {1, 4}  minimal           every distinct descriptor of the nodes once, with a number
    marks         tree 0, position 12:         the marks of `routing.sizing.edge_counts`, of single descriptors
                  descriptor 7  +1 below

Summed below a node, the marks of a descriptor tell whether the parent's interface to this node has it, and, subtracted
from 1 for a descriptor that is minimal in the whole network, else from 0, whether the node's interface to its parent
has it. So the marks below a router give its table (see `router_tables`). A descriptor has few marks, however many
routers have it; those at the root, below nobody, are left out.

The marks of a tree are in ranges of positions, so that few files have the marks below a router.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from itertools import count

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.matching.storage.tag_sets import TagSets
from cbnet.pipeline.schemas import NUMBERED, ROUTER_TABLES, SET_MARKS, arrow_schema
from cbnet.pipeline.spark.parallelism import partitions_for
from cbnet.pipeline.tables.minimal_descriptors import minimal_descriptors
from cbnet.pipeline.tables.router_interfaces import Targets
from cbnet.pipeline.tables.subset_queries import slices_of_sets
from cbnet.pipeline.tables.tree_counts import merged_answers, subset_owners
from cbnet.routing.sizing.edge_counts import SetMarks
from cbnet.topology import Tree
from cbnet.topology.trees.common_ancestors import CommonAncestors


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
    for rows in slices_of_sets(batches):
        sets, owners, inner = merged_answers(rows, len(ancestors))
        marks = SetMarks.of(owners, inner, ancestors)
        below_root = np.flatnonzero(marks.positions > 0)
        offsets = np.searchsorted(marks.sets[below_root], np.arange(len(sets) + 1))
        columns = [
            TagSets(offsets, each[below_root].astype(np.int32)).to_arrow()
            for each in (marks.positions, marks.below, marks.above)
        ]
        yield pa.RecordBatch.from_arrays([sets.to_arrow(), *columns], schema=arrow_schema(SET_MARKS))
