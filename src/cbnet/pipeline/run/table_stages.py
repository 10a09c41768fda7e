"""Stages from predicates to tables: of some routers, Table 1, folded tables, of every router [2014 §4].

Tables of counts are one file: they have a row per interface, 123,000 for all routers of the Internet of 2012, 4 MB in
memory, and come from the driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.stage import Output, Stage, StageContext
from cbnet.pipeline.schemas import ROLES, TABLE1
from cbnet.pipeline.spark.results import Facts, StoredFiles
from cbnet.pipeline.tables.fib import folded_tables, forwarding_tables
from cbnet.pipeline.tables.router_tables import StoredTables, descriptor_marks, numbered_descriptors
from cbnet.pipeline.tables.table_1 import collect_loads, table1, table1_of_all
from cbnet.pipeline.tables.tree_counts import distinct_counts, minimal_counts
from cbnet.routing.sizing.edge_counts import EdgeCounts
from cbnet.routing.sizing.fib_size import PAPER_BYTES
from cbnet.topology import shortest_path_trees

DESCRIPTORS, MARKS = "router_tables/descriptors", "router_tables/marks"
_COUNTS = TABLE1.names[3:]
_MAX_INTERFACES = 200  # in the facts: those with most descriptors


def table_stages(config: Config) -> Iterator[Stage]:
    """Yield the stages that build or count tables."""
    root = {"root": config.network.root}
    routers = {"routers": config.network.routers}
    yield Stage("fib", _fib, root | routers, ("predicates",))
    yield Stage("table1", _table1, {}, ("fib", "loads"))
    if config.all_routers is not None:
        yield Stage("all_routers", _all_routers, root, ("predicates", "loads"))
        if config.all_routers.distinct:
            yield Stage("distinct", _distinct, root, ("population", "loads"))
    for k in sorted({*config.folded.k}) if config.folded else ():
        yield Stage(f"folded/{k}", partial(_folded, k=k), {"k": k} | root | routers, ("predicates",))
    if config.router_tables is not None:
        yield Stage(DESCRIPTORS, _descriptors, {}, ("predicates",))
        parameters = root | {"trees": config.network.trees, "ranges": config.router_tables.ranges}
        yield Stage(MARKS, _marks, parameters, ("predicates", DESCRIPTORS))


def _fib(context: StageContext) -> Output:
    return Output(forwarding_tables(context.frame("predicates"), context.tree, context.routers))


def _table1(context: StageContext) -> Output:
    rows = table1(context.frame("fib"), context.frame("loads"), context.tree, context.routers).coalesce(1)
    return Output(rows, partial(_table1_facts, context))


def _table1_facts(context: StageContext, stored: StoredFiles) -> Facts:
    """Return the rows of Table 1 for each router: all interfaces, and the one with most destinations."""
    rows: list[dict[str, Any]] = []
    written = [row.asDict() for row in stored.frame(context.spark).collect()]  # one row per interface
    for router in context.routers:
        own = [row for row in written if row["router"] == router]
        single = [row for row in own if row["interface"] is not None]
        whole = next(row for row in own if row["interface"] is None)
        largest = max(single, key=lambda row: (row["destinations"], -row["interface"]), default=None)
        rows += [_with_names(context, row) for row in (whole, largest) if row is not None]
    loads = context.frame("loads")
    roles = {}
    for role in ROLES:
        of_role = collect_loads(loads, len(context.graph), role)
        roles[role] = {"descriptors": int(of_role.descriptors.sum()), "tags": int(of_role.tags.sum())}
    interfaces = [_with_names(context, row) for row in written if row["interface"] is not None]
    return {
        "nodes": len(context.graph),
        "links": context.graph.edge_count,
        "rows": rows,
        "roles": roles,
        "interfaces": sorted(interfaces, key=lambda row: -row["descriptors"])[:_MAX_INTERFACES],
    }


def _with_names(context: StageContext, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of TABLE1 with names of nodes instead of numbers."""
    graph, interface = context.graph, row["interface"]
    return {
        "router": graph.name(row["router"]),
        "root": graph.name(context.tree.root),
        "interface": None if interface is None else graph.name(interface),
        **{name: row[name] for name in _COUNTS},
    }


def _all_routers(context: StageContext) -> Output:
    loads = collect_loads(context.frame("loads"), len(context.graph))
    kept = minimal_counts(context.frame("predicates"), context.tree)
    rows = table1_of_all(context.spark, kept, loads, context.tree)
    return Output(rows.coalesce(1), lambda _: {"kept": _router_entries(context, kept)})


def _distinct(context: StageContext) -> Output:
    loads = collect_loads(context.frame("loads"), len(context.graph))
    distinct = distinct_counts(context.frame("population"), context.tree)
    rows = table1_of_all(context.spark, distinct, loads, context.tree)
    rows = rows.drop("bytes").withColumnRenamed("kept", "distinct")
    return Output(rows.coalesce(1), lambda _: {"distinct": _router_entries(context, distinct)})


def _router_entries(context: StageContext, counts: EdgeCounts) -> dict[str, int]:
    """Return the entries of the chosen routers by these counts."""
    entries = counts.at_routers()
    return {str(context.graph.name(router)): int(entries[router]) for router in context.routers}


def _folded(context: StageContext, k: int) -> Output:
    trees = [*shortest_path_trees(context.graph, context.roots(k))]
    tables = folded_tables(context.frame("predicates"), trees, context.routers)
    return Output(tables, partial(_folded_facts, context, k))


def _folded_facts(context: StageContext, k: int, stored: StoredFiles) -> Facts:
    counts = [F.count("*").alias("entries"), F.count("tree").alias("of_one_tree")]
    by_router = stored.frame(context.spark).groupBy("router").agg(*counts)
    rows = {row["router"]: row for row in by_router.collect()}
    return {
        "k": k,
        "rows": [
            {
                "router": context.graph.name(router),
                "entries": entries,
                "of_one_tree": single,
                "bytes": PAPER_BYTES * entries,
            }
            for router in context.routers
            for entries, single in [
                (rows[router]["entries"], rows[router]["of_one_tree"]) if router in rows else (0, 0)
            ]
        ],
    }


def _descriptors(context: StageContext) -> Output:
    rows = numbered_descriptors(context.frame("predicates"), len(context.graph))
    return Output(rows, partition_by=("minimal",))


def _marks(context: StageContext) -> Output:
    config = context.config.router_tables
    assert config is not None
    rows = descriptor_marks(context.frame("predicates"), context.frame(DESCRIPTORS), context.trees, config.ranges)
    return Output(rows, partial(_entries, context), ("tree", "range"))


def _entries(context: StageContext, stored: StoredFiles) -> Facts:
    """Return the number of entries in the tables of all routers on each tree, which the marks represent."""
    tables = router_tables(context, stored.frame(context.spark))
    return {"routers": len(context.graph), "entries": tables.entries()}


def router_tables(context: StageContext, marks: DataFrame | None = None) -> StoredTables:
    """Return the stored tables of every router; marks: by default those of the stage that is done."""
    config = context.config.router_tables
    assert config is not None
    marks = context.frame(MARKS) if marks is None else marks
    return StoredTables(context.frame(DESCRIPTORS), marks, context.trees, config.ranges)
