"""Folding of the tables of several trees into one: size and decisions [2014 §3.2.3, §4.2.3].

The tables of a router for all trees are folded into one, on Spark and, for comparison, in memory, where tables of equal
trees are grouped as well. On small networks every decision of the folded table is compared with those of the separate
tables.

That the table stays manageable follows in the paper from Table 1 and Figure 5: an interface needs a handful of trees,
so many trees cost at most a handful of times one. That factor decides, not a chosen size of memory.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.routing import Network
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs
from cbnet.routing.sizing.descriptor_sets import DescriptorSets
from cbnet.topology import draw_roots, root_classes, shortest_path_trees, topology
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.internet import PAPER_NODES, TABLE, graph_table, internet, on_generated, too_small
from cbnet_lab.experiments.y2014 import users
from cbnet_lab.report.chart import Chart

_PAPER_BYTES = 50  # per descriptor
_PAPER_TREES = 128  # the largest number of trees in the paper
_SAVES = 0.01  # share of the separate tables that folding has to save
_HANDFUL = 10  # distinct trees per interface, as in Figure 5
_RULE_SAME = ClaimRule(
    72,
    f"no decision changes, and folding saves at least {_SAVES:.0%} of the separate tables at every number of trees "
    f"from 2 to {_PAPER_TREES}",
)
_RULE_MANAGEABLE = ClaimRule(
    90, f"the folded table of {_PAPER_TREES} trees has at most {_HANDFUL} times the entries of one tree"
)
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
    trees: tuple[int, ...]
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
    rows = sorted(tables["entries"].to_pylist(), key=lambda row: row["trees"])
    return [_same(tables, rows), _manageable(tables, rows, parameters)]


def _same(tables: Tables, rows: list[Row]) -> Finding:
    total, different = (sum(tables["decisions"][name].to_pylist()) for name in ("decisions", "different"))
    several = [row for row in rows if row["trees"] > 1]
    saved = {row["trees"]: 1 - row["folded"] / max(1, row["per_tree"]) for row in several}
    grouped = {row["trees"]: 1 - row["grouped"] / max(1, row["per_tree"]) for row in several}
    texts = ", ".join(f"{saved[k]:.1%} with {k} trees ({grouped[k]:.1%} by grouping)" for k in saved)
    ours = f"{different} of {total:,} decisions differ; folding saves {texts}"
    if different:
        return _RULE_SAME.fails(ours, "a folded table makes different decisions")
    unequal = [row for row in rows if row["folded"] != row["folded_on_spark"]]
    if unequal:
        return _RULE_SAME.fails(ours, f"Spark folds to {unequal[0]['folded_on_spark']:,} entries")
    useless = [str(k) for k, share in saved.items() if share < _SAVES]
    if useless:
        reason = f"no decision changes, but folding saves less than {_SAVES:.0%} with {', '.join(useless)} trees"
        return _RULE_SAME.fails(ours, "; ".join(filter(None, (reason, on_generated(tables)))))
    if max(saved, default=0) < _PAPER_TREES:
        return _RULE_SAME.unmeasured(ours, f"measured up to {max(saved, default=1)} trees")
    better = [str(k) for k in saved if grouped[k] > saved[k]]
    if better:
        reason = f"grouping equal trees, which folding is to replace, would save more with {', '.join(better)} trees"
        return _RULE_SAME.differs(ours, reason)
    return _RULE_SAME.holds(ours)


def _manageable(tables: Tables, rows: list[Row], parameters: FoldingParameters) -> Finding:
    first, last = rows[0], rows[-1]
    growth = last["folded"] / max(1, first["folded"])
    sizes = ", ".join(
        f"{row['folded']:,} with {row['trees']} ({row['folded'] * _PAPER_BYTES / 2**20:,.1f} MiB)" for row in rows
    )
    ours = f"entries by trees, with {_PAPER_BYTES} bytes each: {sizes}; {growth:.2f} times from first to last"
    where = on_generated(tables)
    if growth > _HANDFUL:
        reason = f"{last['trees']} trees take more than {_HANDFUL} times the memory of one"
        return _RULE_MANAGEABLE.fails(ours, "; ".join(filter(None, (reason, where))))
    short = too_small(tables)
    if not short and last["trees"] < _PAPER_TREES:
        short = f"measured up to {last['trees']} trees"
    if not short and parameters.clusters < users.PAPER_CLUSTERS:
        short = f"measured with {parameters.clusters:,} of {users.PAPER_CLUSTERS:,} clusters"
    if short:
        return _RULE_MANAGEABLE.unmeasured(ours, short)
    return _RULE_MANAGEABLE.differs(ours, f"it holds {where}") if where else _RULE_MANAGEABLE.holds(ours)


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
    f"Manageable: at most {_HANDFUL} times the table of one tree, as by Figure 5 an interface needs a handful of "
    "trees. The paper names no hardware.",
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
        "full": FoldingParameters(2_000, 10_000, (1, 2, 4, 8, 16, 32, 64, 128), 20, 100),
        "paper": FoldingParameters(PAPER_NODES, 250_000, (1, 2, 4, 8, 16, 32, 64, 128), 20, 100),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=_CHOICES,
    inputs=("topology", "traces"),
)
