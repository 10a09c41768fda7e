"""Folding of the tables of several trees into one: size and decisions [2014 §3.2.3, §4.2.3].

The tables of a router for all trees are folded into one, on Spark and, for comparison, in memory, where tables of equal
trees are grouped as well. On small networks every decision of the folded table is compared with those of the separate
tables.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.internet import TABLE, graph_table, internet, is_from_file
from cbnet.lab.experiments.y2014 import users
from cbnet.lab.report.chart import Chart
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.routing import Network
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs
from cbnet.routing.sizing.descriptor_sets import DescriptorSets
from cbnet.topology import draw_roots, root_classes, shortest_path_trees, topology

_PAPER_BYTES, _PAPER_KEPT = 50, 10_880_657  # per descriptor; descriptors for one tree
_HARDWARE = 8 * 2**30  # bytes of a router's memory in 2014
_TAGS, _MAX_FILTER_TAGS, _MAX_MESSAGE_TAGS = 12, 3, 5  # on small networks
_VARIANTS = {
    "per_tree": "one table per tree",
    "grouped": "one per group of equal trees",
    "folded": "folded",
    "grouped_and_folded": "both",
}


@dataclass(frozen=True)
class FoldingParameters:
    """Sizes of the networks and the population, and numbers of trees."""

    nodes: int  # of a generated graph
    clusters: int
    trees: tuple[int, ...]  # up to 63
    networks: int  # small ones, with every decision checked
    messages: int  # per small network


def _run(parameters: FoldingParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    graph = internet(context, parameters.nodes)
    decisions = [_decisions(context.seed + number, parameters.messages) for number in range(parameters.networks)]
    return {
        TABLE: graph_table(graph, context),
        "decisions": as_table(decisions),
        "entries": as_table(_entries(graph, parameters, context)),
    }


def _decisions(seed: int, messages: int) -> Row:
    """Return the decisions of all routers of a random network that differ between folded and separate tables."""
    rng = random.Random(seed)
    graph = topology(f"aslike:{rng.randint(20, 40)}", seed)
    predicates = {
        node: Predicate([Filter(tags=_draw_tags(rng, _MAX_FILTER_TAGS)) for _ in range(2)])
        for node in range(len(graph))
    }
    scheme = MultiTree(Network(graph, predicates), rng.sample(range(len(graph)), 4))
    sent = [Message(tags=_draw_tags(rng, _MAX_MESSAGE_TAGS)) for _ in range(messages)]
    total, different = 0, 0
    for node in range(len(graph)):
        router = scheme.router(node)
        folded = router.folded()
        for tree in range(len(scheme.trees)):
            table = router.fib(tree)
            for message in sent:
                separate = [w for w, each in table.items() if each.subscriptions.matches(message)]
                total += 1
                different += sorted(folded.match(tree, message)) != separate
    return {
        "network": seed,
        "nodes": len(graph),
        "trees": len(scheme.trees),
        "decisions": total,
        "different": different,
    }


def _draw_tags(rng: random.Random, max_tags: int) -> list[str]:
    return [f"t{number}" for number in rng.sample(range(_TAGS), rng.randint(1, max_tags))]


def _entries(graph: Any, parameters: FoldingParameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the entries of the most central router of the first tree, for each number of trees."""
    from cbnet.pipeline.population.population import population
    from cbnet.pipeline.tables.fib import folded_tables, node_predicates
    from cbnet.pipeline.tables.tree_centrality import most_central_routers

    roots = draw_roots(root_classes(graph), max(parameters.trees), seed=context.seed).tolist()
    trees = list(shortest_path_trees(graph, roots))
    router = int(most_central_routers(trees[0])[0])
    firsts = users.first_clusters(context, graph, parameters.clusters)
    models, apps = users.models(context), users.applications()
    people = population(context.spark(), models, firsts, applications=apps, seed=context.seed)
    predicates = node_predicates(people, len(graph)).persist()
    try:
        rows = predicates.toArrow().combine_chunks()
        owners = np.asarray(rows["node"]).astype(np.int32)
        descriptors = DescriptorSets(owners, _one_chunk(rows["tags"]))
        for done, k in enumerate(parameters.trees):
            context.progress(done, len(parameters.trees), f"{k} trees")
            in_memory = asdict(DescriptorFibs(trees[:k], descriptors).entries(router))
            on_spark = folded_tables(predicates, trees[:k], [router]).count()
            yield {"trees": k, **in_memory, "folded_on_spark": on_spark, "descriptors": len(owners)}
    finally:
        predicates.unpersist()


def _one_chunk(column: pa.ChunkedArray) -> pa.ListArray:
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _findings(tables: Tables, parameters: FoldingParameters) -> list[Finding]:
    rows = {row["trees"]: row for row in tables["entries"].to_pylist()}
    return [_same(tables, rows[max(rows)]), _manageable(tables, rows, parameters)]


def _same(tables: Tables, row: Row) -> Finding:
    total, different = (sum(tables["decisions"][name].to_pylist()) for name in ("decisions", "different"))
    ours = (
        f"{different} of {total:,} decisions differ; {row['trees']} trees: {row['per_tree']:,} entries separate, "
        f"{row['grouped']:,} grouped, {row['folded']:,} folded"
    )
    if different:
        return Finding(72, ours, "fails", "a folded table makes different decisions")
    if row["folded"] != row["folded_on_spark"]:
        return Finding(72, ours, "fails", f"Spark folds to {row['folded_on_spark']:,} entries")
    if row["folded"] > row["grouped"]:
        reason = "no decision changes, but grouping equal trees would save more at this router than folding"
        return Finding(72, ours, "differs", reason)
    return Finding(72, ours, "holds")


def _manageable(tables: Tables, rows: dict[int, Row], parameters: FoldingParameters) -> Finding:
    first, last = rows[min(rows)], rows[max(rows)]
    growth = last["folded"] / max(1, first["folded"])
    expected = growth * _PAPER_KEPT * _PAPER_BYTES
    ours = (
        f"{first['folded']:,} entries with {first['trees']} tree, {last['folded']:,} with {last['trees']} ("
        f"{growth:.2f} times); for the paper's table that would be {expected / 2**30:.2f} GiB"
    )
    if expected > _HARDWARE:
        return Finding(90, ours, "fails", f"that is more than {_HARDWARE / 2**30:.0f} GiB")
    clusters = f"{parameters.clusters:,} of {users.PAPER_CLUSTERS:,} clusters"
    where = "" if is_from_file(tables) else " on a generated graph"
    if parameters.clusters >= users.PAPER_CLUSTERS and is_from_file(tables):
        return Finding(90, ours, "holds")
    return Finding(90, ours, "differs", f"the growth is measured with {clusters}{where}")


def _charts(tables: Tables, _: FoldingParameters) -> list[Chart]:
    rows = [
        {"trees": row["trees"], "entries": row[variant], "variant": label}
        for row in tables["entries"].to_pylist()
        for variant, label in _VARIANTS.items()
    ]
    return [
        Chart(
            "entries", "Entries of the most central router, by number of trees", as_table(rows), "trees", "entries",
            series="variant", x_log=True, y_log=True, x_title="trees", y_title="entries",
            description="Entries for growing numbers of trees: one table per tree, one per group of equal trees, one "
            "folded table, and both.",
        ),
    ]  # fmt: skip


_CHOICES = (
    "The router: the most central one of the first tree.",
    "Hardware of its time: a router with 8 GiB for its table; the measured growth is applied to the paper's own table "
    "for one tree.",
    "Descriptors are reduced at their nodes first, as in announcements.",
)

EXPERIMENT = Experiment(
    name="2014-folding",
    title="Tables of several trees, folded into one",
    paper="2014",
    section="§3.2.3, §4.2.3",
    claims=(72, 90),
    scales={
        "quick": FoldingParameters(500, 300, (1, 2, 4, 8, 16), 3, 40),
        "full": FoldingParameters(2_000, 10_000, (1, 2, 4, 8, 16, 32), 20, 100),
        "paper": FoldingParameters(41_000, 250_000, (1, 2, 4, 8, 16, 32, 63), 20, 100),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=_CHOICES,
    inputs=("topology", "traces"),
)
