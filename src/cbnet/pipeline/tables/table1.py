"""Table 1: how much does a router hold, for all interfaces and for the largest? [2014 §4.2.3]

Tags and original descriptors are those of all nodes behind an interface, as they were said; kept are the minimal ones.
The paper gives each of these 50 bytes, a Bloom filter of 400 bits, and counts nothing else.

`table1` counts the tables of some routers; `table1_of_all` has what `tree_counts` found for all routers of a tree.
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
from cbnet.pipeline.tables.tree_counts import EdgeCounts, sums_below
from cbnet.pipeline.tables.tree_targets import Interfaces
from cbnet.topology import Tree

BYTES = 50  # of a kept descriptor
_COUNTED = ("interfaces", "destinations", "tags", "descriptors", "kept", "bytes")
# The paper's: its sizes are these bytes, in units of 2^20.
PAPER_TABLE1 = {
    "all": dict(zip(_COUNTED, (325, 42_112, 276_501_173, 85_504_514, 10_880_657, 10_880_657 * BYTES), strict=True)),
    "largest": dict(zip(_COUNTED, (1, 6_559, 35_814_399, 10_727_593, 1_145_713, 1_145_713 * BYTES), strict=True)),
}

Row = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class Loads:
    """What the nodes say, before anything is aggregated: int64[nodes] each."""

    descriptors: NDArray[np.int64]
    tags: NDArray[np.int64]


def node_loads(population: DataFrame) -> DataFrame:
    """Return how many descriptors and tags each node has: LOADS. Descriptors without tags are left out."""
    said = population.where(F.size("tags") > 0).groupBy("node", "role")
    return said.agg(F.count("*").alias("descriptors"), F.sum(F.size("tags")).alias("tags"))


def collect_loads(loads: DataFrame, nodes: int, role: str | None = None) -> Loads:
    """Return the loads of all nodes, of one role or of both. There are no more rows than nodes."""
    wanted = loads if role is None else loads.where(F.col("role") == role)
    descriptors, tags = np.zeros((2, nodes), dtype=np.int64)
    for row in wanted.groupBy("node").agg(F.sum("descriptors"), F.sum("tags")).collect():
        descriptors[row[0]], tags[row[0]] = row[1], row[2]
    return Loads(descriptors, tags)


def table1(fib: DataFrame, loads: DataFrame, tree: Tree, routers: Sequence[int], *, number: int = 0) -> DataFrame:
    """Return Table 1 of routers: TABLE1, a row for each interface and one, with interface null, for all of a router.

    fib: FIB, which may hold other routers and trees too; loads: LOADS.
    """
    wanted = fib.where((F.col("tree") == number) & F.col("router").isin(*routers))
    counted = wanted.groupBy("router", "interface").count().collect()
    kept = {(row[0], row[1]): row[2] for row in counted}
    rows = table1_rows(kept, collect_loads(loads, len(tree.parents)), tree, routers, number)
    return fib.sparkSession.createDataFrame(rows, TABLE1)


def table1_rows(
    kept: dict[tuple[int, int], int], loads: Loads, tree: Tree, routers: Sequence[int], number: int = 0
) -> list[Row]:
    """Return the rows of Table 1; kept: the minimal descriptors of each router and interface, if there are any."""
    interfaces = Interfaces.of([tree], routers)
    ones = np.ones(len(tree.parents), dtype=np.int64)
    sums = [interfaces.sums(of_nodes).tolist() for of_nodes in (ones, loads.tags, loads.descriptors)]
    single = [
        (router, number, neighbour, 1, *counts, found, found * BYTES)
        for router, neighbour, *counts in zip(
            interfaces.routers.tolist(), interfaces.neighbours.tolist(), *sums, strict=True
        )
        for found in [kept.get((router, neighbour), 0)]
    ]
    return [row for router in routers for row in _with_total(router, number, single)]


def _with_total(router: int, number: int, rows: list[Row]) -> list[Row]:
    own = [row for row in rows if row[0] == router]
    sums = [sum(column) for column in zip(*(row[3:] for row in own), strict=True)] or [0] * 6
    return [(router, number, None, *sums), *own]


def table1_of_all(spark: SparkSession, kept: EdgeCounts, loads: Loads, tree: Tree, *, number: int = 0) -> DataFrame:
    """Return Table 1 of every router of a tree: TABLE1, as `table1` does."""
    children = np.flatnonzero(tree.parents >= 0)
    parents = tree.parents[children].astype(np.int64)
    routers, neighbours = np.concatenate([parents, children]), np.concatenate([children, parents])
    ones = np.ones(len(tree.parents), dtype=np.int64)
    behind = [*(_behind_edges(tree, of_nodes) for of_nodes in (ones, loads.tags, loads.descriptors)), kept]
    counts = [np.concatenate([each.below[children], each.above[children]]) for each in behind]
    single = np.array([np.ones_like(routers), *counts, counts[-1] * BYTES])
    totals = np.zeros((len(ones), len(single)), dtype=np.int64)
    np.add.at(totals, routers, single.T)
    told = np.sort(tree.preorder).astype(np.int64)  # the routers of the tree, each with a row for all its interfaces
    is_total = np.arange(len(told) + len(routers)) < len(told)
    columns = [
        np.concatenate([told, routers]),
        np.full(len(is_total), number),
        pa.array(np.concatenate([told, neighbours]), mask=is_total),
        *np.concatenate([totals[told].T, single], axis=1),
    ]
    schema = arrow_schema(TABLE1)
    arrays = [pa.array(column).cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return spark.createDataFrame(pa.table(arrays, schema))


def _behind_edges(tree: Tree, of_nodes: NDArray[np.int64]) -> EdgeCounts:
    below = sums_below(tree, of_nodes[tree.preorder])
    return EdgeCounts(below, below[tree.root] - below)
