"""Worked examples of [2014 §3]: two trees over eleven routers, and redundant descriptors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import as_table
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.report.chart import Chart
from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.matching.minimal_sets import minimal
from cbnet.routing import Network
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.topology import Graph, Tree, distances

_LINKS = "bc cg ch bf fj fk be ei ed da ij jk fg"
_ROOTS = "bi"  # of T1 and T2
_ROUTER = "b"  # whose tables Figure 3 shows
_DESCRIPTORS = (("networking",), ("conference", "networking"))


@dataclass(frozen=True)
class ExamplesParameters2014:
    """The examples have none."""


def _run(_parameters: ExamplesParameters2014, _context: ExperimentContext) -> dict[str, pa.Table]:
    graph = Graph.from_edges([(link[0], link[1]) for link in _LINKS.split()])
    predicates = {node: Predicate([Filter(tags=[str(graph.name(node))])]) for node in range(len(graph))}
    scheme = MultiTree(Network(graph, predicates), [graph.id(root) for root in _ROOTS])
    return {"hops": _hops(graph, scheme), "terms": _terms(graph, scheme), "descriptors": _descriptors()}


def _hops(graph: Graph, scheme: MultiTree) -> pa.Table:
    """Return the hops between each two routers, in the graph and on both trees."""
    trees = [_tree_graph(graph, tree) for tree in scheme.trees]
    hops_in = {"graph": _all_hops(graph)} | {f"T{number}": _all_hops(tree) for number, tree in enumerate(trees, 1)}
    pairs = combinations(sorted(map(str, graph.names)), 2)
    rows = [{"from": u, "to": v, **{where: hops[u, v] for where, hops in hops_in.items()}} for u, v in pairs]
    return as_table(rows)


def _tree_graph(graph: Graph, tree: Tree) -> Graph:
    """Return the links of a tree as a graph."""
    parents = enumerate(tree.parents.tolist())
    return Graph.from_edges([(graph.name(node), graph.name(parent)) for node, parent in parents if parent >= 0])


def _all_hops(graph: Graph) -> dict[tuple[str, str], int]:
    lengths = distances(graph, range(len(graph))).tolist()
    return {
        (str(graph.name(u)), str(graph.name(v))): hops for u, row in enumerate(lengths) for v, hops in enumerate(row)
    }


def _terms(graph: Graph, scheme: MultiTree) -> pa.Table:
    """Return every term of the tables of router b: on each tree, and folded."""
    router = scheme.router(graph.id(_ROUTER))
    tables = {
        f"T{tree + 1}": {w: each.subscriptions for w, each in router.fib(tree).items()}
        for tree in range(len(scheme.trees))
    }
    folded = router.folded()
    tables["folded"] = folded.entries
    names = {tag: f"T{number}" for number, tag in enumerate(folded.tree_tags, 1)}
    return as_table(
        [
            {"table": table, "interface": graph.name(w), "term": " ∧ ".join(sorted(names.get(t, t) for t in term.tags))}
            for table, entries in tables.items()
            for w, predicate in entries.items()
            for term in predicate.filters
        ]
    )


def _descriptors() -> pa.Table:
    sets = pa.array(_DESCRIPTORS, pa.list_(pa.string()))
    kept = set(minimal(sets).tolist())
    return pa.table({"tags": sets, "kept": [row in kept for row in range(len(sets))]})


def _findings(tables: Tables, _parameters: ExamplesParameters2014) -> list[Finding]:
    return [_longer(tables["hops"]), _redundant(tables["descriptors"]), _folded(tables["terms"])]


def _longer(hops: pa.Table) -> Finding:
    [row] = [row for row in hops.to_pylist() if {row["from"], row["to"]} == {"i", "j"}]
    holds = (row["graph"], row["T1"]) == (1, 4)
    ours = f"{row['T1']} hops on T1, {row['T2']} on T2, {row['graph']} in the graph"
    return _finding(68, ours, holds, "different path lengths in the network that fits the text")


def _redundant(descriptors: pa.Table) -> Finding:
    kept = [row["tags"] for row in descriptors.to_pylist() if row["kept"]]
    ours = f"{len(kept)} of {descriptors.num_rows} kept: " + ", ".join("{" + ", ".join(tags) + "}" for tags in kept)
    return _finding(70, ours, kept == [["networking"]], "different descriptors are kept")


def _folded(terms: pa.Table) -> Finding:
    counts = Counter(terms["table"].to_pylist())
    separate = counts["T1"] + counts["T2"]
    ours = f"{separate} terms to {counts['folded']}"
    return _finding(71, ours, (separate, counts["folded"]) == (20, 14), "different numbers of terms")


def _finding(claim: int, ours: str, holds: bool, reason: str) -> Finding:
    return Finding(claim, ours, "holds") if holds else Finding(claim, ours, "fails", reason)


def _charts(tables: Tables, _parameters: ExamplesParameters2014) -> list[Chart]:
    counts = Counter(zip(tables["terms"]["table"].to_pylist(), tables["terms"]["interface"].to_pylist(), strict=True))
    rows = [{"table": table, "interface": interface, "terms": terms} for (table, interface), terms in counts.items()]
    return [
        Chart(
            "folding", "Terms in the tables of router b, on two trees and folded into one", as_table(rows), "interface",
            "terms", "bars", series="table", x_title="interface to", y_title="terms",
            description="Terms per interface of router b: on the first tree, on the second, and folded into one.",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2014-examples",
    title="Two trees over eleven routers: longer paths, redundant descriptors, folded tables",
    paper="2014",
    section="§3, Figures 2 and 3",
    claims=(68, 70, 71),
    scales={"quick": ExamplesParameters2014(), "full": ExamplesParameters2014(), "paper": ExamplesParameters2014()},
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The figures are not in the text: the links agree with everything it states about them.",
        "Each router has one descriptor of its own, so a term is a router.",
        "In Figure 3 the row of T2 and e should end with p_j ∨ p_k, and is printed with p_b.",
    ),
)
