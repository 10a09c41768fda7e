"""Table 1 of [2014 §4.2.3]: the forwarding table of the most central router, for one tree.

A population of user clusters has subscriptions and offers at the nodes of the graph. The descriptors behind each
interface of the router are reduced to minimal ones. The share that is kept falls as the population grows, so several
sizes are measured; the last one is compared with the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cbnet.topology import Graph, Tree, draw_roots, root_classes, shortest_path_tree
from cbnet_lab.experiments.curves import Metrics, Row, where
from cbnet_lab.experiments.experiment import GRAPH, ExperimentContext, Results, Rows, Tables, experiment
from cbnet_lab.experiments.internet import graph_rows, internet
from cbnet_lab.experiments.y2014 import users
from cbnet_lab.experiments.y2014.table_1_metrics import of_clusters, paper_row, table_1_grid, table_1_metrics
from cbnet_lab.report.page import Grid

if TYPE_CHECKING:
    from cbnet.routing.sizing.edge_counts import EdgeCounts

_ENGINES = ("tags", "bloom")


@dataclass(frozen=True)
class Table1Parameters:
    """Sizes of the network and the population."""

    nodes: int  # of a generated graph
    clusters: tuple[int, ...]
    roots: int  # to draw; one of their trees is chosen


def _run(parameters: Table1Parameters, context: ExperimentContext) -> Results:
    graph = internet(context, parameters.nodes)
    roots = draw_roots(root_classes(graph), parameters.roots, seed=context.seed).tolist()
    trees = [_tree_row(graph, root) for root in dict.fromkeys(roots)]
    chosen = min(trees, key=lambda row: (abs(row["interfaces"] - paper_row()["interfaces"]), row["root"]))
    tree, router = shortest_path_tree(graph, chosen["root"]), chosen["router"]
    models = users.models(context)
    rows: list[Row] = []
    bytes_rows: list[Row] = []
    for done, clusters in enumerate(parameters.clusters):
        context.progress(done, len(parameters.clusters), f"{clusters:,} clusters")
        counted, sizes = _counted(
            context, graph, tree, router, models, clusters, is_last=clusters == max(parameters.clusters)
        )
        rows += counted
        bytes_rows += sizes
    return {
        GRAPH: graph_rows(graph, context),
        "trees": [{**row, "chosen": row is chosen} for row in trees],
        "interfaces": rows,
        "sizes": bytes_rows,
    }


def _tree_row(graph: Graph, root: int) -> Row:
    """Return the most central router of the tree of a root, and its interfaces."""
    from cbnet.pipeline.tables.tree_centrality import most_central_routers

    tree = shortest_path_tree(graph, root)
    router = int(most_central_routers(tree)[0])
    behind = [*tree.sizes[tree.children(router)].tolist()]
    if router != root:
        behind.append(len(graph) - int(tree.sizes[router]))
    return {"root": root, "router": router, "interfaces": len(behind), "largest": max(behind)}


def _counted(
    context: ExperimentContext, graph: Graph, tree: Tree, router: int, models: Any, clusters: int, *, is_last: bool
) -> tuple[list[Row], list[Row]]:
    """Return a row per interface and one for all; for the last population also the bytes of the tables."""
    from cbnet.pipeline.population.population import population
    from cbnet.pipeline.tables.fib import forwarding_tables, node_predicates
    from cbnet.pipeline.tables.table_1 import node_loads, table1
    from cbnet.pipeline.tables.tree_counts import distinct_counts

    firsts = users.first_clusters(context, graph, clusters)
    descriptors = population(
        context.spark(), models, firsts, applications=users.applications(), seed=context.seed
    ).persist()
    predicates = node_predicates(descriptors, len(graph)).persist()
    fib = forwarding_tables(predicates, tree, [router]).persist()
    try:
        distinct = _distinct(tree, router, distinct_counts(descriptors, tree))
        interfaces = table1(fib, node_loads(descriptors), tree, [router]).collect()
        rows = [{"clusters": clusters, **row.asDict(), "distinct": distinct[row["interface"]]} for row in interfaces]
        return rows, list(_sizes(fib, router)) if is_last else []
    finally:
        for frame in (fib, predicates, descriptors):
            frame.unpersist()


def _distinct(tree: Tree, router: int, counts: EdgeCounts) -> dict[int | None, int]:
    """Return the distinct descriptors behind each interface, and their sum over all interfaces."""
    distinct: dict[int | None, int] = {int(child): int(counts.below[child]) for child in tree.children(router)}
    if tree.parents[router] >= 0:
        distinct[int(tree.parents[router])] = int(counts.above[router])
    distinct[None] = sum(distinct.values())
    return distinct


def _sizes(fib: Any, router: int) -> Iterator[Row]:
    """Yield the file size of the router's table, by tag engine."""
    from cbnet.pipeline.tables.compiled_tables import compile_tables

    for engine in _ENGINES:
        with TemporaryDirectory() as folder:
            [names] = compile_tables(fib, [router], folder, engine=engine).values()
            yield {"engine": engine, "bytes": sum(Path(folder, name).stat().st_size for name in names)}


def _metrics(rows: Rows, parameters: Table1Parameters) -> Metrics:
    return table_1_metrics(rows, max(parameters.clusters))


def _grids(tables: Tables, parameters: Table1Parameters) -> list[Grid]:
    return [table_1_grid(tables["interfaces"].to_pylist(), max(parameters.clusters))]


def _charts(rows: Rows, parameters: Table1Parameters) -> dict[str, list[Row]]:
    last = where(rows["interfaces"], clusters=max(parameters.clusters))
    return {
        "share-kept": [of_clusters(rows["interfaces"], clusters)["all"] for clusters in parameters.clusters],
        "interfaces-kept": [row for row in last if row["interface"] is not None and row["kept"]],
    }


EXPERIMENT = experiment("2014-table-1", Table1Parameters, _run, _metrics, _charts, _grids)
