"""Forwarding tables of routers: the minimal descriptors of each interface [2014 §3.2, §4.2.3].

    population ─► predicates of the nodes ─► interface of every node, for trees and routers ─► minimal descriptors

Each node's own predicate is reduced first, once, as it is announced: a descriptor that is redundant at the node is
redundant at every interface that leads to it. The tables of all routers and trees start from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.schemas import FIB
from cbnet.pipeline.tables.minimal_descriptors import minimal_descriptors
from cbnet.pipeline.tables.router_interfaces import Ids, RouterInterfaces, Targets
from cbnet.topology import Tree


def node_predicates(population: DataFrame, nodes: int, partitions: int | None = None) -> DataFrame:
    """Return the minimal descriptors of each node: PREDICATES. nodes: the number of nodes of the graph."""
    kept = minimal_descriptors(population, Targets.of_nodes(nodes), partitions)
    return kept.select(F.col("group").alias("node"), "tags")


def forwarding_tables(
    predicates: DataFrame, tree: Tree, routers: Sequence[int], *, number: int = 0, partitions: int | None = None
) -> DataFrame:
    """Return the tables of routers on a tree: FIB. predicates: those of the nodes; number: that of the tree."""
    interfaces = RouterInterfaces.of([tree], routers)
    kept = minimal_descriptors(predicates, interfaces.targets(), partitions)
    return named(kept.withColumn("tree", F.lit(number)), interfaces.routers, interfaces.neighbours)


def folded_tables(
    predicates: DataFrame, trees: Sequence[Tree], routers: Sequence[int], *, partitions: int | None = None
) -> DataFrame:
    """Return the tables of routers, each folded over all trees: FIB [2014 §3.2.3]."""
    interfaces = RouterInterfaces.of(trees, routers)
    kept = minimal_descriptors(predicates, interfaces.targets(), partitions)
    return named(folded(kept, len(trees)), interfaces.routers, interfaces.neighbours)


def folded(kept: DataFrame, trees: int) -> DataFrame:
    """Return the entries of interfaces for all trees: `group`, `tags`, `tree`. kept: ANSWERS.

    A descriptor that is minimal behind an interface on some tree occurs once, with a null `tree`, if on every tree it
    or a subset of it is behind the interface; else once for each tree on which it is minimal.
    """
    everywhere = F.col("trees").bitwiseOR(F.col("covered")) == (1 << trees) - 1
    left = F.col("trees").bitwiseAND(F.bitwise_not("covered"))
    minimal_on = [F.when(F.getbit(left, F.lit(number)) == 1, F.lit(number)) for number in range(trees)]
    entries = F.when(everywhere, F.array(F.lit(None).cast("int"))).otherwise(F.array_compact(F.array(*minimal_on)))
    return kept.select("group", "tags", F.explode(entries).alias("tree"))


def named(rows: DataFrame, routers: Ids, neighbours: Ids) -> DataFrame:
    """Return rows of `group`, `tree` and `tags` with the router and the neighbour of each group: FIB."""
    groups = list(zip(range(len(routers)), routers.tolist(), neighbours.tolist(), strict=True))
    names = rows.sparkSession.createDataFrame(groups, "group int, router int, interface int")
    return rows.join(F.broadcast(names), "group").select(*FIB.names)
