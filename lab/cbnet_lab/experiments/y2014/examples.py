"""Worked examples of [2014 §3]: two trees over eleven routers, and redundant descriptors.

The network of eleven was built to fit the text and cannot contradict it, so the statements behind both of its examples
are checked on larger networks as well: links whose ends are far apart on a tree, and terms that folding saves.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from cbnet.language.filter import Filter
from cbnet.language.predicate import Predicate
from cbnet.matching.minimal_sets import minimal
from cbnet.routing import Network
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.multitree.tree_sides import lengths_on_tree
from cbnet.routing.sizing.predicate_fibs import PredicateFibs
from cbnet.topology import Graph, Tree, distances, topology
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.report.chart import Chart, PublishedValue

_LINKS = "bc cg ch bf fj fk be ei ed da ij jk fg"
_ROOTS = "bi"  # of T1 and T2
_ROUTER = "b"  # whose tables Figure 3 shows
_DESCRIPTORS = (("networking",), ("conference", "networking"))
_PAPER_FOLDED = {"c": 3, "f": 3, "e": 8}  # terms of the folded table in Figure 3, by interface
_FAR = 4  # hops between i and j on T1
_LONGER = ClaimRule(
    68, f"i and j are {_FAR} hops apart on T1 and 1 in the graph, and so are the ends of a link of each larger network"
)
_REDUNDANT = ClaimRule(70, "of both descriptors {networking} alone is kept")
_FOLDED = ClaimRule(71, "20 terms are folded into 14, and routers of larger networks have fewer terms together")
_BUILT = (
    "the figure is not in the text, so the network of eleven was built to fit what the text states and cannot "
    "contradict it; the larger networks are generated"
)


@dataclass(frozen=True)
class ExamplesParameters2014:
    """Larger networks, and routers of each whose tables are folded."""

    larger: tuple[str, ...] = ("aslike:60", "powerlaw:60")
    routers: int = 10


def _run(parameters: ExamplesParameters2014, context: ExperimentContext) -> dict[str, pa.Table]:
    graph = Graph.from_edges([(link[0], link[1]) for link in _LINKS.split()])
    scheme = _scheme(graph, [graph.id(root) for root in _ROOTS])
    larger = [_larger(name, parameters.routers, context.seed) for name in parameters.larger]
    return {
        "hops": _hops(graph, scheme),
        "terms": _terms(graph, scheme),
        "descriptors": _descriptors(),
        "larger": as_table(larger),
    }


def _scheme(graph: Graph, roots: list[int]) -> MultiTree:
    """Return trees over routers that have one descriptor each, their name."""
    predicates = {node: Predicate([Filter(tags=[str(graph.name(node))])]) for node in range(len(graph))}
    return MultiTree(Network(graph, predicates), roots)


def _larger(name: str, routers: int, seed: int) -> Row:
    """Return, for two random trees of a generated network, the links with far ends, and the terms of some routers."""
    graph = topology(name, seed, largest=True)
    rng = np.random.default_rng(seed)
    scheme = _scheme(graph, rng.permutation(len(graph))[:2].tolist())
    links = [(u, v) for u, v, _ in graph.edges()]
    hops = [int(lengths_on_tree(scheme.trees[0], u, np.array([v], dtype=np.int32))[0]) for u, v in links]
    inner = rng.permutation(np.flatnonzero(graph.degrees > 1))[:routers].tolist()
    entries = [PredicateFibs(scheme).entries(u) for u in inner]
    return {
        "network": name, "links": len(links), "far": sum(each >= _FAR * graph.scale for each in hops),
        "routers": len(inner), "saved": sum(each.folded < each.per_tree for each in entries),
        "separate": sum(each.per_tree for each in entries), "folded": sum(each.folded for each in entries),
    }  # fmt: skip


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
    larger = tables["larger"].to_pylist()
    return [_longer(tables["hops"], larger), _redundant(tables["descriptors"]), _folded(tables["terms"], larger)]


def _longer(hops: pa.Table, larger: list[Row]) -> Finding:
    [row] = [row for row in hops.to_pylist() if {row["from"], row["to"]} == {"i", "j"}]
    texts = ", ".join(f"{each['far']:,} of {each['links']:,} ({each['network']})" for each in larger)
    ours = (
        f"{row['T1']} hops on T1, {row['T2']} on T2, {row['graph']} in the graph; links with ends {_FAR} hops or more "
        f"apart on a tree: {texts}"
    )
    return _fitted(_LONGER, ours, (row["graph"], row["T1"]) == (1, _FAR), all(each["far"] for each in larger))


def _redundant(descriptors: pa.Table) -> Finding:
    kept = [row["tags"] for row in descriptors.to_pylist() if row["kept"]]
    ours = f"{len(kept)} of {descriptors.num_rows} kept: " + ", ".join("{" + ", ".join(tags) + "}" for tags in kept)
    return _REDUNDANT.decide(ours, kept == [["networking"]], "different descriptors are kept")


def _folded(terms: pa.Table, larger: list[Row]) -> Finding:
    counts = Counter(terms["table"].to_pylist())
    separate = counts["T1"] + counts["T2"]
    texts = ", ".join(
        f"{each['separate']:,} to {each['folded']:,}, fewer at {each['saved']} of {each['routers']} ({each['network']})"
        for each in larger
    )
    ours = f"{separate} terms to {counts['folded']}; at routers of larger networks: {texts}"
    saves = all(each["folded"] < each["separate"] for each in larger)
    return _fitted(_FOLDED, ours, (separate, counts["folded"]) == (20, 14), saves)


def _fitted(rule: ClaimRule, ours: str, is_equal: bool, is_true: bool) -> Finding:
    """Return the finding for an example on the network that was built to fit; is_true: on the larger networks."""
    if not is_equal:
        return rule.fails(ours, "the example differs from the paper's")
    return rule.differs(ours, _BUILT) if is_true else rule.fails(ours, "it is not true on a larger network")


def _charts(tables: Tables, _parameters: ExamplesParameters2014) -> list[Chart]:
    counts = Counter(zip(tables["terms"]["table"].to_pylist(), tables["terms"]["interface"].to_pylist(), strict=True))
    rows = [{"table": table, "interface": interface, "terms": terms} for (table, interface), terms in counts.items()]
    return [
        Chart(
            "folding", "Terms in the tables of router b, on two trees and folded into one", as_table(rows), "interface",
            "terms", "bars", series="table", x_title="interface to", y_title="terms",
            published=tuple(
                PublishedValue(f"{terms} terms folded at {interface}", interface, terms)
                for interface, terms in _PAPER_FOLDED.items()
            ),
            description="Terms per interface of router b: on the first tree, on the second, and folded into one.",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2014-examples",
    title="Two trees over eleven routers: longer paths, redundant descriptors, folded tables",
    paper="2014",
    section="§3, Figures 2 and 3",
    claims=(68, 70, 71),
    scales={
        "quick": ExamplesParameters2014(),
        "full": ExamplesParameters2014(("aslike:1000", "powerlaw:1000"), 50),
        "paper": ExamplesParameters2014(("aslike:1000", "powerlaw:1000"), 200),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "The figures are not in the text: the network of eleven was built to fit everything it states about them.",
        "Each router has one descriptor of its own, so a term is a router.",
        "In Figure 3 the row of T2 and e should end with p_j ∨ p_k, and is printed with p_b.",
    ),
)
