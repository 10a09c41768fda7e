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

import numpy as np
import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.internet import TABLE, graph_table, internet, is_from_file
from cbnet.lab.experiments.y2014 import users
from cbnet.lab.report.chart import Chart
from cbnet.topology import Graph, Tree, draw_roots, root_classes, shortest_path_tree

if TYPE_CHECKING:
    from cbnet.routing.sizing.edge_counts import EdgeCounts

_MIB = 2**20
_PAPER_SIZES = (518.83, 54.63)  # MiB
_TAGS_CLOSE, _SHARE_CLOSE = 0.2, 0.5  # relative to the paper's
_ENGINES = ("tags", "bloom")


@dataclass(frozen=True)
class Table1Parameters:
    """Sizes of the network and the population."""

    nodes: int  # of a generated graph
    clusters: tuple[int, ...]
    roots: int  # to draw; one of their trees is chosen


def _run(parameters: Table1Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
    graph = internet(context, parameters.nodes)
    trees = [_tree_row(graph, root) for root in _draw_distinct_roots(graph, parameters.roots, context.seed)]
    chosen = min(trees, key=lambda row: (abs(row["interfaces"] - _paper()["interfaces"]), row["root"]))
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
        TABLE: graph_table(graph, context),
        "trees": as_table([{**row, "chosen": row is chosen} for row in trees]),
        "interfaces": as_table(rows),
        "sizes": as_table(bytes_rows),
    }


def _draw_distinct_roots(graph: Graph, count: int, seed: int) -> list[int]:
    drawn: list[int] = draw_roots(root_classes(graph), count, seed=seed).tolist()
    return list(dict.fromkeys(drawn))


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


def _findings(tables: Tables, parameters: Table1Parameters) -> list[Finding]:
    last = _of_clusters(tables, max(parameters.clusters))
    return [
        _interfaces(tables),
        _load(last["all"], parameters),
        _kept(tables, parameters),
        _largest(tables, last, parameters),
        _memory(tables, last["all"]),
    ]


def _interfaces(tables: Tables) -> Finding:
    trees = tables["trees"].to_pylist()
    counts = sorted(row["interfaces"] for row in trees)
    [chosen] = [row for row in trees if row["chosen"]]
    ours = (
        f"{chosen['interfaces']:,} interfaces, {tables[TABLE]['nodes'][0].as_py() - 1:,} destinations; "
        f"{counts[0]:,} to {counts[-1]:,} interfaces on {len(trees)} trees, median {int(np.median(counts)):,}"
    )
    if not is_from_file(tables):
        return Finding(84, ours, "open", "a generated graph has other routers", missing="topology")
    if counts[0] <= _paper()["interfaces"] <= counts[-1]:
        reason = "it depends on the tree, which is not in the paper: the closest of the drawn trees is used"
        return Finding(84, ours, "differs", reason)
    return Finding(84, ours, "fails", "the paper's number is outside the range of all drawn trees")


def _load(row: Row, parameters: Table1Parameters) -> Finding:
    paper = _paper()
    each, theirs = row["tags"] / row["descriptors"], paper["tags"] / paper["descriptors"]
    share = max(parameters.clusters) / users.PAPER_CLUSTERS
    ours = f"{row['descriptors']:,} descriptors of {max(parameters.clusters):,} clusters, {each:.2f} tags each"
    if abs(each - theirs) > _TAGS_CLOSE * theirs:
        return Finding(85, ours, "fails", f"the paper has {theirs:.2f} tags per descriptor")
    part = "" if share >= 1 else f"; these are {share:.3%} of the paper's clusters"
    reason = f"descriptors per cluster were chosen to give the paper's total; its text would give twice as many{part}"
    return Finding(85, ours, "differs", reason)


def _kept(tables: Tables, parameters: Table1Parameters) -> Finding:
    shares = {n: _share(_of_clusters(tables, n)["all"]) for n in sorted(parameters.clusters)}
    row = _of_clusters(tables, max(parameters.clusters))["all"]
    theirs, last = _share(_paper()), shares[max(shares)]
    distinct = row["distinct"] / row["descriptors"]
    by_size = ", ".join(f"{share:.1%} at {n:,} clusters" for n, share in shares.items())
    ours = f"{row['kept']:,} of {row['descriptors']:,} ({last:.1%}); {distinct:.1%} are distinct; {by_size}"
    if abs(last - theirs) <= _SHARE_CLOSE * theirs and max(shares) >= users.PAPER_CLUSTERS:
        return Finding(86, ours, "holds")
    if last <= theirs:
        reason = "fewer are kept than in the paper, even with fewer clusters: our users share more tags"
        return Finding(86, ours, "differs" if last >= _SHARE_CLOSE * theirs else "fails", reason)
    if max(shares) >= users.PAPER_CLUSTERS:
        return Finding(86, ours, "fails", "more are kept than in the paper")
    reason = "the share falls as the population grows, and the paper's population is larger than ours"
    return Finding(86, ours, "unmeasured", reason)


def _largest(tables: Tables, last: Row, parameters: Table1Parameters) -> Finding:
    row, whole, paper = last["largest"], last["all"], _paper("largest")
    destinations = row["destinations"] / whole["destinations"]
    ours = (
        f"{row['destinations']:,} destinations ({destinations:.1%}), "
        f"{row['descriptors']:,} → {row['kept']:,} descriptors ({_share(row):.1%})"
    )
    if not is_from_file(tables):
        return Finding(87, ours, "open", "a generated graph has other routers", missing="topology")
    theirs = paper["destinations"] / _paper()["destinations"]
    if abs(destinations - theirs) > theirs or (_share(row) < _share(whole)) != (_share(paper) < _share(_paper())):
        reason = "its share of the destinations is more than twice the paper's, or it keeps more than all together"
        return Finding(87, ours, "fails", reason)
    reason = (
        f"another graph, and {max(parameters.clusters):,} clusters; as in the paper it keeps less than all together"
    )
    return Finding(87, ours, "differs", reason)


def _memory(tables: Tables, row: Row) -> Finding:
    computed = tuple(round(_paper(which)["bytes"] / _MIB, 2) for which in ("all", "largest"))
    each = ", ".join(
        f"{size['bytes'] / max(1, row['kept']):.0f} ({size['engine']})" for size in tables["sizes"].to_pylist()
    )
    ours = f"{computed[0]} and {computed[1]} MiB; our tables take, in bytes per descriptor: {each}"
    if computed == _PAPER_SIZES:
        return Finding(88, ours, "differs", "exactly 50 bytes per descriptor: the paper counts nothing else")
    return Finding(88, ours, "fails", "50 bytes per descriptor do not give the paper's sizes")


def _of_clusters(tables: Tables, clusters: int) -> dict[str, Row]:
    """Return the row of all interfaces and that of the one with the most destinations."""
    rows = [row for row in tables["interfaces"].to_pylist() if row["clusters"] == clusters]
    [whole] = [row for row in rows if row["interface"] is None]
    single = [row for row in rows if row["interface"] is not None]
    return {"all": whole, "largest": max(single, key=lambda row: (row["destinations"], -row["interface"]))}


def _share(row: Any) -> float:
    return float(row["kept"] / max(1, row["descriptors"]))


def _paper(which: str = "all") -> dict[str, int]:
    from cbnet.pipeline.tables.table_1 import PAPER_TABLE1

    return PAPER_TABLE1[which]


def _charts(tables: Tables, parameters: Table1Parameters) -> list[Chart]:
    shares = [
        {"descriptors": row["descriptors"], "share": row[column] / row["descriptors"], "of": label}
        for clusters in parameters.clusters
        for row in [_of_clusters(tables, clusters)["all"]]
        for column, label in (("kept", "kept"), ("distinct", "distinct"))
    ]
    last = [row for row in tables["interfaces"].to_pylist() if row["clusters"] == max(parameters.clusters)]
    single = [
        {"descriptors": row["descriptors"], "kept": row["kept"]}
        for row in last
        if row["interface"] is not None and row["kept"]
    ]
    return [
        Chart(
            "share-kept", "Share of the descriptors at the most central router that are kept", as_table(shares),
            "descriptors", "share", series="of", x_log=True, x_title="descriptors registered", y_title="share of them",
            references=(("paper: 12.7 % of 85.5 million", _share(_paper())),),
            description="The shares of distinct and of minimal descriptors, for growing populations.",
        ),
        Chart(
            "interfaces-kept", "Descriptors behind each interface of the most central router: registered and kept",
            as_table(single), "descriptors", "kept", "points", x_log=True, y_log=True, x_title="registered",
            y_title="kept", description="Each point is an interface: descriptors registered behind it, and those kept.",
        ),
    ]  # fmt: skip


_CHOICES = (
    "Descriptors per cluster: chosen so that 2.5 million clusters have the paper's 85.5 million. The number per user "
    "of its traces would give 169 million.",
    "The tree: of 20 roots drawn by class, the one whose most central router has closest to 325 interfaces. The paper "
    "does not state its tree, and a root among the largest ISPs gives thousands.",
    "The most central router lies between the most pairs of nodes on the tree.",
    "Tag sets beyond those of a trace come from a model of it; blogs are always synthetic.",
    "Offers and subscriptions are reduced together, as in the paper.",
)

EXPERIMENT = Experiment(
    name="2014-table-1",
    title="Table 1: the forwarding table of the most central router",
    paper="2014",
    section="§4.2.3, Table 1",
    claims=(84, 85, 86, 87, 88),
    scales={
        "quick": Table1Parameters(1_000, (100, 1_000), 20),
        "full": Table1Parameters(5_000, (2_500, 25_000, 250_000), 20),
        "paper": Table1Parameters(41_000, (25_000, 250_000, users.PAPER_CLUSTERS), 20),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=_CHOICES,
    inputs=("topology", "traces"),
)
