"""Table 1: the size of a router's table, for all interfaces and for the largest [2014 §4.2.3].

Tags and descriptors are those that the nodes behind an interface registered; announced are those that are minimal among
the descriptors of their user; kept are the minimal ones of all. The paper's "original" descriptors may be either. It
gives each of the last 50 bytes, a Bloom filter of 400 bits, and counts nothing else.

`table1` counts the tables of some routers; `table1_of_all` those of all routers of a tree, from `tree_counts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.schemas import TABLE1, arrow_schema
from cbnet.pipeline.tables.router_interfaces import RouterInterfaces
from cbnet.routing.sizing.edge_counts import EdgeCounts
from cbnet.routing.sizing.fib_size import PAPER_BYTES
from cbnet.topology import Tree

_COUNTED = ("interfaces", "destinations", "tags", "descriptors", "announced", "kept", "bytes")
# The paper prints the bytes in units of 2^20.
PAPER_TABLE1 = {
    which: dict(zip(_COUNTED, (*counts, counts[-1], kept, kept * PAPER_BYTES), strict=True))
    for which, counts, kept in (
        ("all", (325, 42_112, 276_501_173, 85_504_514), 10_880_657),
        ("largest", (1, 6_559, 35_814_399, 10_727_593), 1_145_713),
    )
}

Row = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class Loads:
    """What each node registered, before any aggregation: int64[nodes] each."""

    descriptors: NDArray[np.int64]
    announced: NDArray[np.int64]  # minimal among those of their user
    tags: NDArray[np.int64]


def node_loads(population: DataFrame) -> DataFrame:
    """Return the number of descriptors and tags of each node: LOADS. Descriptors without tags are left out."""
    grouped = population.where(F.size("tags") > 0).groupBy("node", "role")
    announced = F.count_if("announced").alias("announced")
    return grouped.agg(F.count("*").alias("descriptors"), announced, F.sum(F.size("tags")).alias("tags"))


def collect_loads(loads: DataFrame, nodes: int, role: str | None = None) -> Loads:
    """Return the loads of all nodes, of one role or of both; at most one row per node is collected."""
    selected = loads if role is None else loads.where(F.col("role") == role)
    sums = np.zeros((3, nodes), dtype=np.int64)
    for node, *counts in selected.groupBy("node").agg(*map(F.sum, ("descriptors", "announced", "tags"))).collect():
        sums[:, node] = counts
    return Loads(*sums)


def table1(fib: DataFrame, loads: DataFrame, tree: Tree, routers: Sequence[int]) -> DataFrame:
    """Return Table 1 of routers: TABLE1, a row for each interface, and one for each router with a null interface.

    fib: FIB of one tree, possibly with other routers; loads: LOADS.
    """
    selected = fib.where(F.col("router").isin(*routers))
    counted = selected.groupBy("router", "interface").count().collect()
    kept = {(row[0], row[1]): row[2] for row in counted}
    rows = table1_rows(kept, collect_loads(loads, len(tree.parents)), tree, routers)
    return fib.sparkSession.createDataFrame(rows, TABLE1)


def table1_rows(kept: dict[tuple[int, int], int], loads: Loads, tree: Tree, routers: Sequence[int]) -> list[Row]:
    """Return the rows of Table 1; kept: the number of minimal descriptors by router and interface."""
    interfaces = RouterInterfaces.of([tree], routers)
    ones = np.ones(len(tree.parents), dtype=np.int64)
    sums = [interfaces.sums(of_nodes).tolist() for of_nodes in (ones, loads.tags, loads.descriptors, loads.announced)]
    single = [
        (router, 0, neighbour, 1, *counts, minimal, minimal * PAPER_BYTES)
        for router, neighbour, *counts in zip(
            interfaces.routers.tolist(), interfaces.neighbours.tolist(), *sums, strict=True
        )
        for minimal in [kept.get((router, neighbour), 0)]
    ]
    return [row for router in routers for row in _with_total(router, single)]


def _with_total(router: int, rows: list[Row]) -> list[Row]:
    own = [row for row in rows if row[0] == router]
    sums = [sum(column) for column in zip(*(row[3:] for row in own), strict=True)] or [0] * 7
    return [(router, 0, None, *sums), *own]


def table1_of_all(spark: SparkSession, kept: EdgeCounts, loads: Loads, tree: Tree) -> DataFrame:
    """Return Table 1 of every router of a tree: TABLE1."""
    children = np.flatnonzero(tree.parents >= 0)
    parents = tree.parents[children].astype(np.int64)
    routers, neighbours = np.concatenate([parents, children]), np.concatenate([children, parents])
    ones = np.ones(len(tree.parents), dtype=np.int64)
    registered = (ones, loads.tags, loads.descriptors, loads.announced)
    behind = [*(EdgeCounts.of_nodes(tree, counts) for counts in registered), kept]
    counts = [np.concatenate([each.below[children], each.above[children]]) for each in behind]
    single = np.array([np.ones_like(routers), *counts, counts[-1] * PAPER_BYTES])
    totals = np.zeros((len(ones), len(single)), dtype=np.int64)
    np.add.at(totals, routers, single.T)
    reached = np.sort(tree.preorder).astype(np.int64)  # each has a row for all its interfaces
    is_total = np.arange(len(reached) + len(routers)) < len(reached)
    columns = [
        np.concatenate([reached, routers]),
        np.zeros(len(is_total)),
        pa.array(np.concatenate([reached, neighbours]), mask=is_total),
        *np.concatenate([totals[reached].T, single], axis=1),
    ]
    schema = arrow_schema(TABLE1)
    arrays = [pa.array(column).cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return spark.createDataFrame(pa.table(arrays, schema))
