"""Table 1 of [2014 §4.2.3]: the forwarding table of the most central router, for one tree.

A population of user clusters has subscriptions and offers at the nodes of the graph. The descriptors behind each
interface of the router are reduced to minimal ones. The share that is kept falls as the population grows, so several
sizes are measured; the last one is compared with the paper.

"Original" descriptors have two readings: all sets of the users, and the sets that a user announces after dropping its
own redundant ones. Both are shown where the table has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from cbnet.topology import Graph, Tree, draw_roots, root_classes, shortest_path_tree
from cbnet_lab.experiments.curves import Metrics, Row, where
from cbnet_lab.experiments.experiment import (
    GRAPH,
    ExperimentContext,
    Grid,
    Parameters,
    Results,
    Rows,
    Tables,
    experiment,
)
from cbnet_lab.experiments.y2014 import users

if TYPE_CHECKING:
    from cbnet.routing.sizing.edge_counts import EdgeCounts

_ENGINES = ("tags", "bloom")
_MIB = 2**20
_BYTES = 50  # per descriptor: 400 bits
_READINGS = {"descriptors": "all sets", "announced": "sets that users announce"}


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    graph = context.internet(parameters.nodes)
    roots = draw_roots(root_classes(graph), parameters.roots, seed=context.seed).tolist()
    trees = [_tree_row(graph, root) for root in dict.fromkeys(roots)]
    chosen = min(trees, key=lambda row: (abs(row["interfaces"] - _paper_row()["interfaces"]), row["root"]))
    tree, router = shortest_path_tree(graph, chosen["root"]), chosen["router"]
    models = users.models(context)
    rows: list[Row] = []
    bytes_rows: list[Row] = []
    for clusters in context.track(parameters.clusters, lambda clusters: f"{clusters:,} clusters"):
        counted, sizes = _counted(
            context, graph, tree, router, models, clusters, is_last=clusters == max(parameters.clusters)
        )
        rows += counted
        bytes_rows += sizes
    return {
        GRAPH: context.graph_rows(graph),
        "trees": [{**row, "chosen": row is chosen} for row in trees],
        "interfaces": rows,
        "sizes": bytes_rows,
    }


def _tree_row(graph: Graph, root: int) -> Row:
    """Return the most central router of the tree of a root, and its interfaces."""
    from cbnet.pipeline.tables.router_interfaces import most_central_routers

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
    from cbnet.pipeline.population.user_election import population
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


def _metrics(rows: Rows, parameters: Parameters) -> Metrics:
    clusters = max(parameters.clusters)
    last = _of_clusters(rows["interfaces"], clusters)
    return {
        **_interfaces(rows["trees"]), **_load(last["all"]), **_kept(rows["interfaces"], clusters),
        **_largest(last), **_memory(rows["sizes"], last["all"]), "clusters": clusters,
    }  # fmt: skip


def _interfaces(trees: list[Row]) -> Metrics:
    counts = sorted(row["interfaces"] for row in trees)
    middle, theirs = float(np.median(counts)), _paper_row()["interfaces"]
    return {
        "least": counts[0], "most": counts[-1], "trees": len(trees), "median": middle,
        # the paper's number, if it is between the fewest and the most of all trees
        "reached": theirs if counts[0] <= theirs <= counts[-1] else middle,
        "chosen": where(trees, chosen=True)[0]["interfaces"],
    }  # fmt: skip


def _load(row: Row) -> Metrics:
    """Return the load that follows from the text; ours is scaled to the paper's by design."""
    from cbnet.pipeline.population.user_election import APPLICATIONS

    text = users.PAPER_CLUSTERS * sum(app.share * app.descriptors for app in APPLICATIONS)
    loads = [
        {"reading": reading, "load": text * row[name] / row["descriptors"]}
        for name, reading in _READINGS.items()
        if name in row
    ]
    each = [load["load"] for load in loads]
    return {
        "loads": loads, "load": each[0], "closest_load": _closest(each, users.PAPER_DESCRIPTORS),
        "descriptors": row["descriptors"], "tags_each": row["tags"] / row["descriptors"],
    }  # fmt: skip


def _closest(values: list[float], target: float) -> float:
    return min(values, key=lambda value: abs(value - target))


def _kept(rows: list[Row], clusters: int) -> Metrics:
    counts = sorted({row["clusters"] for row in rows})
    wholes = [_of_clusters(rows, count)["all"] for count in counts]
    last, theirs = wholes[-1], _share(_paper_row())
    by_clusters = [{"clusters": row["clusters"], "share": _share(row)} for row in wholes]
    shares = [row["share"] for row in by_clusters]
    is_falling = clusters < users.PAPER_CLUSTERS and shares == sorted(shares, reverse=True)
    readings = [
        {"reading": reading, "of": last[name], "share": last["kept"] / max(1, last[name])}
        for name, reading in _READINGS.items()
        if name in last
    ]
    return {
        "kept": last["kept"], "readings": readings, "kept_share": shares[-1],
        "closest_share": _closest([row["share"] for row in readings], theirs), "by_clusters": by_clusters,
        "distinct_share": last["distinct"] / max(1, last["descriptors"]),
        "falling_share": shares[-1] if is_falling else inf,
    }  # fmt: skip


def _largest(last: Mapping[str, Row]) -> Metrics:
    row, whole = last["largest"], last["all"]
    return {
        "largest": row, "behind": row["destinations"] / whole["destinations"],
        "largest_tags_each": row["tags"] / max(1, row["descriptors"]), "largest_share": _share(row),
        "beyond_all": _share(row) - _share(whole),
    }  # fmt: skip


def _memory(sizes: list[Row], row: Row) -> Metrics:
    each = [{"engine": size["engine"], "bytes": size["bytes"] / max(1, row["kept"])} for size in sizes]
    [bloom] = where(each, engine="bloom")
    return {
        "computed": [round(_paper_row(which)["kept"] * _BYTES / _MIB, 2) for which in ("all", "largest")],
        "bytes_each": each, "bloom_bytes": bloom["bytes"], "over_filters": bloom["bytes"] / _BYTES,
    }  # fmt: skip


def _columns(last: Mapping[str, Row]) -> list[Mapping[str, Any]]:
    """Return the four columns: the paper's and ours, of all interfaces and of the largest."""
    return [each for which, row in last.items() for each in (_paper_row(which), row)]


def _of_clusters(rows: list[Row], clusters: int) -> dict[str, Row]:
    """Return, of a population, the row of all interfaces and that of the one with the most destinations."""
    own = where(rows, clusters=clusters)
    [whole] = where(own, interface=None)
    single = [row for row in own if row["interface"] is not None]
    return {"all": whole, "largest": max(single, key=lambda row: (row["destinations"], -row["interface"]))}


def _paper_row(which: str = "all") -> dict[str, int]:
    """Return a column of the paper's Table 1: "all" or "largest"."""
    from cbnet.pipeline.tables.table_1 import PAPER_TABLE1

    return PAPER_TABLE1[which]


def _share(row: Mapping[str, Any]) -> float:
    return float(row["kept"] / max(1, row["descriptors"]))


def _grids(tables: Tables, parameters: Parameters) -> list[Grid]:
    """Return our Table 1 next to the paper's."""
    clusters = max(parameters.clusters)
    last = _of_clusters(tables["interfaces"].to_pylist(), clusters)
    lines: list[list[str]] = []
    for name, text in (("interfaces", "Interfaces"), ("destinations", "Destinations"), ("tags", "Tags")):
        lines.append([text, *(f"{each[name]:,}" for each in _columns(last))])
    for name, reading in _READINGS.items():
        if name in last["all"]:
            theirs = {which: _paper_row(which)["descriptors"] for which in last}
            cells = [f"{number:,}" for which in last for number in (theirs[which], last[which][name])]
            lines.append([f"Original descriptors: {reading}", *cells])
    lines.append(["Actual descriptors", *(f"{each['kept']:,}" for each in _columns(last))])
    lines.append(["Share kept, of all sets", *(f"{_share(each):.1%}" for each in _columns(last))])
    lines.append(
        [f"Size, {_BYTES} bytes each (MiB)", *(f"{each['kept'] * _BYTES / _MIB:,.2f}" for each in _columns(last))]
    )
    heads = ("", "paper, all interfaces", "ours, all interfaces", "paper, the largest", "ours, the largest")
    caption = (
        f"Table 1: the most central router on one tree; ours with {clusters:,} clusters of users, the paper's 2,500,000"
    )
    return [Grid(caption, heads, lines)]


def _charts(rows: Rows, parameters: Parameters) -> dict[str, list[Row]]:
    last = where(rows["interfaces"], clusters=max(parameters.clusters))
    return {
        "share-kept": [_of_clusters(rows["interfaces"], clusters)["all"] for clusters in parameters.clusters],
        "interfaces-kept": [row for row in last if row["interface"] is not None and row["kept"]],
    }


EXPERIMENT = experiment("2014-table-1", _run, _metrics, _charts, _grids)
