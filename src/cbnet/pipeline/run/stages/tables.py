"""From predicates to tables: those of some routers, Table 1, counts of all routers, folded tables [2014 §4]."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from pyspark.sql import functions as F  # noqa: N812

from cbnet.pipeline.run.configuration import Config
from cbnet.pipeline.run.stage import Output, Stage, Workplace
from cbnet.pipeline.schemas import ROLES, TABLE1
from cbnet.pipeline.spark.results import Facts
from cbnet.pipeline.tables.fib import folded_tables, forwarding_tables
from cbnet.pipeline.tables.table1 import collect_loads, table1, table1_of_all
from cbnet.pipeline.tables.tree_counts import distinct_counts, minimal_counts
from cbnet.routing.sizing.fib_size import PAPER_BYTES
from cbnet.topology import shortest_path_trees

_COUNTS = TABLE1.names[3:]


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


def _fib(place: Workplace) -> Output:
    return Output(forwarding_tables(place.frame("predicates"), place.tree, place.routers))


def _table1(place: Workplace) -> Output:
    rows = table1(place.frame("fib"), place.frame("loads"), place.tree, place.routers).coalesce(1)
    return Output(rows, partial(_told, place))


def _told(place: Workplace) -> Facts:
    """Return what Table 1 tells of each router: all interfaces, and the one with most destinations."""
    rows: list[dict[str, Any]] = []
    written = [row.asDict() for row in place.written("table1").collect()]  # no more than interfaces
    for router in place.routers:
        own = [row for row in written if row["router"] == router]
        single = [row for row in own if row["interface"] is not None]
        whole = next(row for row in own if row["interface"] is None)
        largest = max(single, key=lambda row: (row["destinations"], -row["interface"]), default=None)
        rows += [_named(place, row) for row in (whole, largest) if row is not None]
    loads = place.frame("loads")
    roles = {}
    for role in ROLES:
        found = collect_loads(loads, len(place.graph), role)
        roles[role] = {"descriptors": int(found.descriptors.sum()), "tags": int(found.tags.sum())}
    return {"nodes": len(place.graph), "links": place.graph.edge_count, "rows": rows, "roles": roles}


def _named(place: Workplace, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of TABLE1 with the names of nodes instead of their numbers."""
    graph, interface = place.graph, row["interface"]
    return {
        "router": graph.name(row["router"]),
        "root": graph.name(place.tree.root),
        "interface": None if interface is None else graph.name(interface),
        **{name: row[name] for name in _COUNTS},
    }


def _all_routers(place: Workplace) -> Output:
    loads = collect_loads(place.frame("loads"), len(place.graph))
    kept = minimal_counts(place.frame("predicates"), place.tree)
    return Output(table1_of_all(place.spark, kept, loads, place.tree).coalesce(1), partial(_of_routers, place, kept))


def _of_routers(place: Workplace, kept: Any) -> Facts:
    """Return what the chosen routers keep, by this count: Table 1 must say the same."""
    return {"kept": {str(place.graph.name(router)): int(kept.at_routers()[router]) for router in place.routers}}


def _distinct(place: Workplace) -> Output:
    loads = collect_loads(place.frame("loads"), len(place.graph))
    found = distinct_counts(place.frame("population"), place.tree)
    rows = table1_of_all(place.spark, found, loads, place.tree).drop("bytes").withColumnRenamed("kept", "distinct")
    told = {str(place.graph.name(router)): int(found.at_routers()[router]) for router in place.routers}
    return Output(rows.coalesce(1), lambda: {"distinct": told})


def _folded(place: Workplace, k: int) -> Output:
    trees = [*shortest_path_trees(place.graph, place.roots(k))]
    return Output(folded_tables(place.frame("predicates"), trees, place.routers), partial(_entries, place, k))


def _entries(place: Workplace, k: int) -> Facts:
    counts = [F.count("*").alias("entries"), F.count("tree").alias("of_one_tree")]
    counted = place.written(f"folded/{k}").groupBy("router").agg(*counts)
    rows = {row["router"]: row for row in counted.collect()}
    return {
        "k": k,
        "rows": [
            {
                "router": place.graph.name(router),
                "entries": entries,
                "of_one_tree": single,
                "bytes": PAPER_BYTES * entries,
            }
            for router in place.routers
            for entries, single in [
                (rows[router]["entries"], rows[router]["of_one_tree"]) if router in rows else (0, 0)
            ]
        ],
    }
