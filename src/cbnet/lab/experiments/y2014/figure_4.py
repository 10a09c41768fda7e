"""Figure 4 of [2014 §4.1]: extra hops of paths on k trees.

Roots are selected several times, by AS class. For each pair of nodes the extra hops are averaged over the trees of a
selection, or the worst tree is taken. The population of the paper's boxes is not stated, and its 2.5 cannot be a
maximum of whole hops. So there are boxes over pairs and over the means of sources.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cbnet.lab.experiments.claim import Finding
from cbnet.lab.experiments.curves import Row, as_table
from cbnet.lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet.lab.experiments.internet import TABLE, graph_size, graph_table, internet, internet_finding, is_from_file
from cbnet.lab.report.chart import Chart

_FEW = 8  # trees; the paper's numbers are for these
_MEAN, _WORST = (1.0, 2.0), (2.5, 5.5)  # hops
_LITTLE = 0.25  # hops by which more trees may change the mean
_PAPER_GRAPH = (42_113, 118_040)
_KINDS = {"extra_mean": "mean of the trees", "extra_worst": "worst tree"}


@dataclass(frozen=True)
class Figure4Parameters:
    """Size of the survey."""

    nodes: int  # of a generated graph
    trees: tuple[int, ...]
    sources: int  # per selection
    selections: int


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
    return {TABLE: graph_table(graph, context), "extra": as_table(rows)}


def _rows(members: Row) -> Iterator[Row]:
    for kind, label in _KINDS.items():
        for over in ("pairs", "sources"):
            yield {"trees": members["k"], "of": label, "over": over, **members[kind][over]}


def _findings(tables: Tables, parameters: Figure4Parameters) -> list[Finding]:
    rows = {(row["trees"], row["of"], row["over"]): row for row in tables["extra"].to_pylist()}
    lengths = [
        _within(tables, 74, rows, "mean of the trees", _MEAN),
        _within(tables, 75, rows, "worst tree", _WORST),
    ]
    few, many = (rows[k, "mean of the trees", "pairs"]["mean"] for k in (_FEW, max(parameters.trees)))
    ours = f"{few:.2f} hops with {_FEW} trees, {many:.2f} with {max(parameters.trees)}"
    reason = f"the mean changes by more than {_LITTLE} hops"
    return [_graph(tables), *lengths, internet_finding(tables, 76, ours, abs(many - few) <= _LITTLE, reason)]


def _graph(tables: Tables) -> Finding:
    nodes, edges = graph_size(tables)
    ours = f"{nodes:,} nodes, {edges:,} edges"
    if (nodes, edges) == _PAPER_GRAPH:
        return Finding(73, ours, "holds")
    if is_from_file(tables):
        return Finding(73, ours, "differs", "another Internet graph: the paper's is not available")
    return Finding(73, ours, "open", "the graph is generated", missing="topology")


def _within(tables: Tables, claim: int, rows: dict[Any, Any], of: str, limits: tuple[float, float]) -> Finding:
    pairs, sources = (rows[_FEW, of, over] for over in ("pairs", "sources"))
    ours = (
        f"{pairs['mean']:.2f} hops; pairs {pairs['p1']:.2f} to {pairs['p99']:.2f}, "
        f"sources {sources['p1']:.2f} to {sources['p99']:.2f}"
    )
    reason = f"the mean over all pairs is not from {limits[0]} to {limits[1]} hops"
    return internet_finding(tables, claim, ours, limits[0] <= pairs["mean"] <= limits[1], reason)


def _charts(tables: Tables, _: Figure4Parameters) -> list[Chart]:
    return [
        Chart(
            "extra-hops", "Extra hops by number of trees: percentiles 1, 25, 50, 75 and 99", tables["extra"], "trees",
            "p50", "boxes", series="over", facet="of", x_title="trees", y_title="extra hops",
            bands=(("p1", "p99"), ("p25", "p75")),
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
        "full": Figure4Parameters(2_000, (8, 16, 32, 64, 128), 200, 20),
        "paper": Figure4Parameters(41_000, (8, 16, 32, 64, 128), 2_000, 20),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "Roots: 40 % Tier-1, 30 % large and 20 % small ISPs, 10 % stubs, drawn with replacement.",
        "Of several shortest paths a tree has the one through the parent with the smallest number.",
        "The paper's ranges are compared with the mean over all pairs; boxes are over pairs and over means of sources.",
        f"“Little” change means at most {_LITTLE} hops of the mean.",
        "Sources are sampled; from each, all destinations are measured.",
    ),
    inputs=("topology",),
)
