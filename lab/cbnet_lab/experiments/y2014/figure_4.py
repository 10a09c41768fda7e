"""Figure 4 of [2014 §4.1]: extra hops of paths on k trees.

Roots are selected several times, by AS class. For each pair of nodes the extra hops are averaged over the trees of a
selection, or the worst tree is taken. The paper's boxes are over all pairs of ASes, and its 2.5 cannot be a maximum of
whole hops, so it must be an average over the selections: that population decides. Boxes over the pairs of all
selections, and over the means of sources, are shown alongside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cbnet.topology import Graph, draw_roots, extra_lengths, root_classes, shortest_path_trees
from cbnet.topology.graph.sampling import sample_sources
from cbnet_lab.experiments.curves import Metrics, Row
from cbnet_lab.experiments.experiment import GRAPH, ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.internet import SurveyParameters, graph_rows, internet, tree_members

_FEW = 8  # trees; the paper's numbers are for these
_KINDS = {"extra_mean": "mean of the trees", "extra_worst": "worst tree"}
_AVERAGED = "pairs, averaged over the selections"
_PERCENTILES = (1, 25, 50, 75, 99)
_PAPER_NODES, _PAPER_EDGES = 42_113, 118_040


@dataclass(frozen=True)
class Figure4Parameters(SurveyParameters):
    """Size of the survey, and its sources."""

    sources: int  # per selection
    averaged: int = 20  # sources of the pairs that are averaged over the selections


def _run(parameters: Figure4Parameters, context: ExperimentContext) -> Results:
    graph = internet(context, parameters.nodes)
    sources = min(parameters.sources, len(graph))
    members = tree_members(context, graph, parameters, sources=sources)
    rows = [row for each in members for row in _rows(each)]
    rows += _averaged_rows(graph, parameters, context.seed)
    return {GRAPH: graph_rows(graph, context), "extra": rows}


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


def _metrics(rows: Rows, parameters: Figure4Parameters) -> Metrics:
    extra = {(row["trees"], row["of"], row["over"]): row for row in rows["extra"]}
    mean, worst = _KINDS.values()
    means = {k: extra[k, mean, "pairs"]["mean"] for k in parameters.trees}
    nodes, edges = (rows[GRAPH][0][name] for name in ("nodes", "edges"))
    more = {"nodes": nodes / _PAPER_NODES - 1, "edges": edges / _PAPER_EDGES - 1}
    return {
        "more": more, "off": max(map(abs, more.values())),
        **{
            f"{name}_{over}": extra[_FEW, of, _AVERAGED if over == "averaged" else over]
            for name, of in (("mean", mean), ("worst", worst))
            for over in ("averaged", "pairs", "sources")
        },
        "means": [{"trees": k, "mean": value, "change": abs(value - means[_FEW])} for k, value in means.items()],
    }  # fmt: skip


EXPERIMENT = experiment("2014-figure-4", Figure4Parameters, _run, _metrics)
