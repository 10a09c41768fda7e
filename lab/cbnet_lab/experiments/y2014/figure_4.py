"""Figure 4 of [2014 §4.1]: extra hops of paths on k trees.

Roots are selected several times, by AS class. For each pair of nodes the extra hops are averaged over the trees of a
selection, or the worst tree is taken. The paper's boxes are over all pairs of ASes, and its 2.5 cannot be a maximum of
whole hops, so it must be an average over the selections: that population decides. Beside it are boxes over the pairs of
all selections, and over the means of sources.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cbnet.topology import Graph, draw_roots, extra_lengths, root_classes, shortest_path_trees
from cbnet.topology.graph.sampling import sample_sources
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.internet import (
    PAPER_EDGES,
    PAPER_NODES,
    TABLE,
    graph_size,
    graph_table,
    internet,
    internet_finding,
    is_from_file,
    too_small,
)
from cbnet_lab.report.chart import Chart, PublishedValue

_FEW = 8  # trees; the paper's numbers are for these
_MEAN, _WORST = (1.0, 2.0), (2.5, 5.5)  # hops
_LITTLE = 0.25  # hops by which more trees may change the mean, and percentiles may be beyond a range
_CLOSE = 0.05  # of the paper's nodes and edges
_KINDS = {"extra_mean": "mean of the trees", "extra_worst": "worst tree"}
_AVERAGED = "pairs, averaged over the selections"
_PERCENTILES = (1, 25, 50, 75, 99)
_GRAPH = ClaimRule(73, f"nodes and edges are within {_CLOSE:.0%} of the paper's")
_MEAN_RULE, _WORST_RULE = (
    ClaimRule(
        claim,
        f"of all pairs, averaged over the selections, the middle half is {low} to {high} hops longer; with a "
        f"difference if the 1st or 99th percentile is more than {_LITTLE} hops beyond",
    )
    for claim, (low, high) in ((74, _MEAN), (75, _WORST))
)
_ENOUGH = ClaimRule(
    76, f"the mean over all pairs changes by at most {_LITTLE} hops from {_FEW} trees to any larger number"
)


@dataclass(frozen=True)
class Figure4Parameters:
    """Size of the survey."""

    nodes: int  # of a generated graph
    trees: tuple[int, ...]
    sources: int  # per selection
    selections: int
    averaged: int = 20  # sources of the pairs that are averaged over the selections


def _run(parameters: Figure4Parameters, context: ExperimentContext) -> dict[str, pa.Table]:
    from cbnet.pipeline.run.tree_curves import tree_curves

    graph = internet(context, parameters.nodes)
    curves = tree_curves(
        context.spark(),
        graph,
        parameters.trees,
        sources=min(parameters.sources, len(graph)),
        selections=parameters.selections,
        seed=context.seed,
    )
    members = [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in curves]
    rows = [row for each in members for row in _rows(each)]
    rows += _averaged_rows(graph, parameters, context.seed)
    return {TABLE: graph_table(graph, context), "extra": as_table(rows)}


def _averaged_rows(graph: Graph, parameters: Figure4Parameters, seed: int) -> Iterator[Row]:
    """Yield percentiles over the pairs of some sources; the extra hops of a pair are means over all selections."""
    classes = root_classes(graph)
    selections = [
        list(shortest_path_trees(graph, draw_roots(classes, _FEW, seed=seed + number).tolist()))
        for number in range(parameters.selections)
    ]
    columns: dict[str, list[Any]] = {label: [] for label in _KINDS.values()}
    for source in sample_sources(graph, min(parameters.averaged, len(graph)), seed):
        extras = [next(iter(extra_lengths(graph, trees, source))) for trees in selections]
        others = np.arange(len(graph)) != source
        for label, lengths in (
            ("mean of the trees", [each.total / _FEW for each in extras]),
            ("worst tree", [each.largest for each in extras]),
        ):
            columns[label].append(np.mean(lengths, axis=0)[others] / graph.scale)
    for label, parts in columns.items():
        values = np.concatenate(parts)
        ranked = zip(_PERCENTILES, np.percentile(values, _PERCENTILES).tolist(), strict=True)
        numbers = {f"p{percent}": value for percent, value in ranked}
        yield {"trees": _FEW, "of": label, "over": _AVERAGED, "mean": float(values.mean()), **numbers}


def _rows(members: Row) -> Iterator[Row]:
    for kind, label in _KINDS.items():
        for over in ("pairs", "sources"):
            yield {"trees": members["k"], "of": label, "over": over, **members[kind][over]}


def _findings(tables: Tables, parameters: Figure4Parameters) -> list[Finding]:
    rows = {(row["trees"], row["of"], row["over"]): row for row in tables["extra"].to_pylist()}
    lengths = [
        _within(tables, _MEAN_RULE, rows, "mean of the trees", _MEAN),
        _within(tables, _WORST_RULE, rows, "worst tree", _WORST),
    ]
    means = {k: rows[k, "mean of the trees", "pairs"]["mean"] for k in parameters.trees}
    ours = ", ".join(f"{mean:.2f} hops with {k} trees" for k, mean in means.items())
    is_little = all(abs(mean - means[_FEW]) <= _LITTLE for mean in means.values())
    enough = internet_finding(tables, _ENOUGH, ours, is_little, f"the mean changes by more than {_LITTLE} hops")
    return [_graph(tables), *lengths, enough]


def _graph(tables: Tables) -> Finding:
    nodes, edges = graph_size(tables)
    ours = f"{nodes:,} nodes, {edges:,} edges"
    if (nodes, edges) == (PAPER_NODES, PAPER_EDGES):
        return _GRAPH.holds(ours)
    if small := too_small(tables):
        return _GRAPH.unmeasured(ours, small)
    parts = (nodes / PAPER_NODES - 1, edges / PAPER_EDGES - 1)
    ours += f": {parts[0]:+.1%} and {parts[1]:+.1%}"
    if max(map(abs, parts)) > _CLOSE:
        return _GRAPH.fails(ours, f"more than {_CLOSE:.0%} from the paper's")
    graph = "another graph of the Internet" if is_from_file(tables) else "a generated graph"
    return _GRAPH.differs(ours, f"{graph}: the paper's is not available")


def _within(tables: Tables, rule: ClaimRule, rows: dict[Any, Any], of: str, limits: tuple[float, float]) -> Finding:
    averaged, pairs, sources = (rows[_FEW, of, over] for over in (_AVERAGED, "pairs", "sources"))
    low, high = limits
    ours = (
        f"{averaged['mean']:.2f} hops; pairs averaged over the selections: middle half {averaged['p25']:.2f} to "
        f"{averaged['p75']:.2f}, {_ends(averaged)}; pairs of each selection: {_ends(pairs)}; sources: {_ends(sources)}"
    )
    is_inside = low <= averaged["p25"] and averaged["p75"] <= high
    is_narrow = low - _LITTLE <= averaged["p1"] and averaged["p99"] <= high + _LITTLE
    condition = (
        "" if is_narrow else "the middle half of the pairs is in the range, but the 1st or 99th percentile is not"
    )
    return internet_finding(
        tables, rule, ours, is_inside, f"the middle half is not between {low} and {high} hops", condition
    )


def _ends(row: Row) -> str:
    return f"1st to 99th percentile {row['p1']:.2f} to {row['p99']:.2f}"


def _charts(tables: Tables, _: Figure4Parameters) -> list[Chart]:
    ranges = {"mean of the trees": _MEAN, "worst tree": _WORST}
    return [
        Chart(
            "extra-hops", "Extra hops by number of trees: percentiles 1, 25, 50, 75 and 99", tables["extra"], "trees",
            "p50", "boxes", series="over", facet="of", x_title="trees", y_title="extra hops",
            bands=(("p1", "p99"), ("p25", "p75")),
            published=tuple(
                PublishedValue(f"{low:g} to {high:g} hops with {_FEW} trees ({of})", _FEW, low, high, facet=of)
                for of, (low, high) in ranges.items()
            ),
            description="Boxes from the 25th to the 75th percentile, lines from the 1st to the 99th, over pairs of "
            "nodes and over the means of sources; on average over the trees, and on the worst tree.",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2014-figure-4",
    title="Figure 4: paths on k trees are slightly longer",
    paper="2014",
    section="§4.1, Figure 4",
    claims=(73, 74, 75, 76),
    scales={
        "quick": Figure4Parameters(2_000, (8, 16, 32, 64, 128), 20, 4),
        "full": Figure4Parameters(2_000, (8, 16, 32, 64, 128), 200, 20, 100),
        "paper": Figure4Parameters(PAPER_NODES, (8, 16, 32, 64, 128), 2_000, 20, 500),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "Roots: 40 % Tier-1, 30 % large and 20 % small ISPs, 10 % stubs, drawn with replacement.",
        "Of several shortest paths a tree has the one through the parent with the smallest number.",
        "The paper's ranges are compared with pairs of nodes, each averaged over the selections: its boxes are over "
        "all pairs, and its 2.5 is not a whole number of hops.",
        f"“Little” change means at most {_LITTLE} hops of the mean.",
        "Sources are sampled; from each, all destinations are measured.",
    ),
    inputs=("topology",),
)
