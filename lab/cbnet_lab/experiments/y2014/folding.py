"""Folding of the tables of several trees into one: size and decisions [2014 §3.2.3, §4.2.3].

The tables of a router for all trees are folded into one, on Spark and, for comparison, in memory, where tables of equal
trees are grouped as well. On small networks every decision of the folded table is compared with those of the separate
tables.

The paper concludes from Table 1 and Figure 5 that the table stays manageable: an interface needs a handful of trees, so
many trees cost at most a handful of times as much as one. That factor decides the verdict, not a chosen memory size.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Predicate
from cbnet.routing import Network
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs
from cbnet.routing.sizing.descriptor_sets import DescriptorSets
from cbnet.topology import draw_roots, root_classes, shortest_path_trees, topology
from cbnet_lab.experiments.curves import Metrics, Row
from cbnet_lab.experiments.experiment import GRAPH, ExperimentContext, Parameters, Results, Rows, experiment
from cbnet_lab.experiments.y2014 import users

_PAPER_BYTES = 50  # per descriptor
_TAGS, _MAX_FILTER_TAGS, _MAX_MESSAGE_TAGS = 12, 3, 5  # on small networks


def _run(parameters: Parameters, context: ExperimentContext) -> Results:
    graph = context.internet(parameters.nodes)
    decisions = [_decisions(context.seed + number, parameters.messages) for number in range(parameters.networks)]
    return {GRAPH: context.graph_rows(graph), "decisions": decisions, "entries": _entries(graph, parameters, context)}


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


def _entries(graph: Any, parameters: Parameters, context: ExperimentContext) -> Iterator[Row]:
    """Yield the entries of the most central router of the first tree, for each number of trees."""
    from cbnet.pipeline.population.user_election import population
    from cbnet.pipeline.tables.fib import folded_tables, node_predicates
    from cbnet.pipeline.tables.router_interfaces import most_central_routers

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
        descriptors = DescriptorSets(owners, rows["tags"].combine_chunks())
        for k in context.track(parameters.trees, lambda k: f"{k} trees"):
            in_memory = asdict(DescriptorFibs(trees[:k], descriptors).entries(router))
            on_spark = folded_tables(predicates, trees[:k], [router]).count()
            yield {"trees": k, **in_memory, "folded_on_spark": on_spark, "descriptors": len(owners)}
    finally:
        predicates.unpersist()


def _metrics(rows: Rows, _: Parameters) -> Metrics:
    entries = [
        {
            **row, "mib": row["folded"] * _PAPER_BYTES / 2**20, "saved": 1 - row["folded"] / max(1, row["per_tree"]),
            "saved_by_grouping": 1 - row["grouped"] / max(1, row["per_tree"]),
            "unlike_spark": row["folded"] - row["folded_on_spark"],
        }
        for row in sorted(rows["entries"], key=lambda row: int(row["trees"]))
    ]  # fmt: skip
    several = [{**row, "better": row["saved_by_grouping"] - row["saved"]} for row in entries if row["trees"] > 1]
    return {
        "decisions": sum(row["decisions"] for row in rows["decisions"]),
        "different": sum(row["different"] for row in rows["decisions"]),
        "entries": entries, "several": several, "last": entries[-1],
        "several_trees": max((row["trees"] for row in several), default=1),
        "growth": entries[-1]["folded"] / max(1, entries[0]["folded"]),
    }  # fmt: skip


EXPERIMENT = experiment("2014-folding", _run, _metrics)
