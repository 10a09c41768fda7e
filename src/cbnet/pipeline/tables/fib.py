"""Forwarding tables of routers: the minimal descriptors of each interface [2014 §3.2, §4.2.3].

    population ─► predicates of the nodes ─► interface of every node, for trees and routers ─► minimal descriptors

Each node's own predicate is reduced first, once, as it is announced: a descriptor that is redundant at the node is
redundant at every interface that leads to it. The tables of all routers and trees start from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.schemas import FIB
from cbnet.pipeline.spark.parallelism import partitions_for
from cbnet.pipeline.tables.minimal_descriptors import covered_on_trees, minimal_descriptors
from cbnet.pipeline.tables.router_interfaces import MASK_TREES, Ids, RouterInterfaces, Targets
from cbnet.topology import Tree


def node_predicates(population: DataFrame, nodes: int, partitions: int | None = None) -> DataFrame:
    """Return the minimal descriptors of each node: PREDICATES. nodes: the number of nodes of the graph."""
    # A descriptor that is redundant among those of its user is redundant at the node.
    kept = minimal_descriptors(population.where("announced"), Targets.of_nodes(nodes), partitions)
    return kept.select(F.col("group").alias("node"), "tags")


def forwarding_tables(
    predicates: DataFrame, tree: Tree, routers: Sequence[int], *, partitions: int | None = None
) -> DataFrame:
    """Return the tables of routers on a tree, which gets the number 0: FIB. predicates: those of the nodes."""
    interfaces = RouterInterfaces.of([tree], routers)
    kept = minimal_descriptors(predicates, interfaces.targets(), partitions)
    return named(kept.withColumn("tree", F.lit(0)), interfaces.routers, interfaces.neighbours)


def folded_tables(
    predicates: DataFrame, trees: Sequence[Tree], routers: Sequence[int], *, partitions: int | None = None
) -> DataFrame:
    """Return the tables of routers, each folded over all trees: FIB [2014 §3.2.3].

    A mask has a bit for each of at most MASK_TREES trees, so more trees are compared in batches.
    """
    interfaces = RouterInterfaces.of(trees, routers)
    batches = [range(first, min(first + MASK_TREES, len(trees))) for first in range(0, len(trees), MASK_TREES)]
    kept = [minimal_descriptors(predicates, interfaces.targets(batch), partitions) for batch in batches]
    if len(batches) > 1:
        kept = _with_each_other(kept, partitions)
    return named(folded(kept, batches), interfaces.routers, interfaces.neighbours)


def _with_each_other(kept: Sequence[DataFrame], partitions: int | None) -> list[DataFrame]:
    """Return the descriptors that are minimal on a tree of any batch, with their `trees` and `covered` in each batch.

    kept: ANSWERS of each batch. A descriptor that another batch keeps is added with no trees: it covers nothing here,
    but may be covered.
    """
    stored = [each.selectExpr("group", "tags", "trees & ~covered as trees") for each in kept]
    anywhere = reduce(DataFrame.unionByName, stored).select("group", "tags").distinct()
    added = anywhere.select("group", "tags", F.lit(0).cast("long").alias("trees"))
    partitions = partitions or partitions_for(added.sparkSession, added.count())
    return [covered_on_trees(each.unionByName(added), partitions) for each in stored]


def folded(kept: Sequence[DataFrame], batches: Sequence[range]) -> DataFrame:
    """Return the entries of interfaces for all trees: `group`, `tags`, `tree`. kept: ANSWERS, for each batch of trees.

    A descriptor that is minimal behind an interface on some tree occurs once, with a null `tree`, if on every tree it
    or a subset of it is behind the interface; else once for each tree on which it is minimal. Several batches must
    have the same descriptors.
    """
    masks = [
        each.select("group", "tags", *(F.col(name).alias(f"{name}_{number}") for name in ("trees", "covered")))
        for number, each in enumerate(kept)
    ]
    rows = reduce(lambda one, other: one.join(other, ["group", "tags"]), masks)
    is_everywhere = reduce(Column.__and__, [_is_on_all(number, batch) for number, batch in enumerate(batches)])
    minimal_on = [
        F.when(F.getbit(_minimal_trees(number), F.lit(tree - batch.start)) == 1, F.lit(tree))
        for number, batch in enumerate(batches)
        for tree in batch
    ]
    entries = F.when(is_everywhere, F.array(F.lit(None).cast("int"))).otherwise(F.array_compact(F.array(*minimal_on)))
    return rows.select("group", "tags", F.explode(entries).alias("tree"))


def _is_on_all(number: int, batch: range) -> Column:
    """Return whether a descriptor, or a subset of it, is behind the interface on every tree of a batch."""
    return F.col(f"trees_{number}").bitwiseOR(F.col(f"covered_{number}")) == (1 << len(batch)) - 1


def _minimal_trees(number: int) -> Column:
    """Return the trees of a batch on which a descriptor is minimal."""
    return F.col(f"trees_{number}").bitwiseAND(F.bitwise_not(f"covered_{number}"))


def named(rows: DataFrame, routers: Ids, neighbours: Ids) -> DataFrame:
    """Return rows of `group`, `tree` and `tags` with the router and the neighbour of each group: FIB."""
    groups = list(zip(range(len(routers)), routers.tolist(), neighbours.tolist(), strict=True))
    names = rows.sparkSession.createDataFrame(groups, "group int, router int, interface int")
    return rows.join(F.broadcast(names), "group").select(*FIB.names)
