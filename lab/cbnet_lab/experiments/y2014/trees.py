"""Surveys of k trees: their extra hops and their number per interface [2014 §4.1], and link load [2014 §3.1].

Roots are selected several times, by AS class.

Figure 4    extra hops of paths. For each pair of nodes they are averaged over the trees of a selection, or the worst
            tree is taken. The paper's boxes are over all pairs of ASes, and its 2.5 cannot be a maximum of whole hops,
            so it must be an average over the selections: that population decides. Boxes over the pairs of all
            selections, and over the means of sources, are shown alongside.
Figure 5    trees that an interface has to distinguish. Two trees are equal at an interface if they have the same
            destinations behind it. The result depends on which of several shortest paths a tree takes, which the paper
            does not specify: both rules are shown.
link load   every node sends to every other one, each message on a random tree; the load of a link is the share of all
            messages that use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from cbnet.topology import Graph, Ties, draw_roots, extra_lengths, root_classes, shortest_path_trees
from cbnet.topology.survey import survey
from cbnet.topology.traversal import sample_sources
from cbnet_lab.experiments.curves import Metrics, Row, grouped, where
from cbnet_lab.experiments.experiment import GRAPH, ExperimentContext, Measure, Parameters, Results, Rows, experiment

_FEW = 8  # trees; the paper's numbers are for these
_KINDS = {"extra_mean": "mean of the trees", "extra_worst": "worst tree"}
_AVERAGED = "pairs, averaged over the selections"
_PERCENTILES = (1, 25, 50, 75, 99)
_PAPER_NODES, _PAPER_EDGES = 42_113, 118_040
_PAPER_TREES = 128
_RULES = {Ties.SMALLEST: "smallest parent", Ties.RANDOM: "random parent"}
_OURS = _RULES[Ties.SMALLEST]  # the rule of all our other results


def _survey(context: ExperimentContext, graph: Graph, parameters: Parameters, **options: Any) -> list[Row]:
    """Return the survey of k trees for each k, on Spark."""
    from cbnet.pipeline.spark.parallelism import run_tasks

    options |= {"selections": parameters.selections, "seed": context.seed}
    curves = survey(graph, parameters.trees, run=partial(run_tasks, context.spark()), **options)
    return [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in curves]


def _surveyed(table: str, rows: Callable[[list[Row]], list[Row]], **options: Any) -> Measure:
    """Return the function of a table of the trees of the Internet; rows: its rows, from a survey."""

    def run(parameters: Parameters, context: ExperimentContext) -> Results:
        graph = context.internet(parameters.nodes)
        return {
            GRAPH: context.graph_rows(graph),
            table: rows(_survey(context, graph, parameters, sources=1, **options)),
        }

    return run


# --- Figure 4


def _run_figure_4(parameters: Parameters, context: ExperimentContext) -> Results:
    graph = context.internet(parameters.nodes)
    sources = min(parameters.sources, len(graph))
    members = _survey(context, graph, parameters, sources=sources)
    rows = [row for each in members for row in _rows(each)]
    rows += _averaged_rows(graph, parameters, context.seed)
    return {GRAPH: context.graph_rows(graph), "extra": rows}


def _averaged_rows(graph: Graph, parameters: Parameters, seed: int) -> Iterator[Row]:
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


def _metrics_4(rows: Rows, parameters: Parameters) -> Metrics:
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


FIGURE_4 = experiment("2014-figure-4", _run_figure_4, _metrics_4)


# --- Figure 5


def interface_rows(members: Iterable[Row]) -> list[Row]:
    """Return the trees per interface of surveys of k trees."""
    rows = []
    for each in members:
        counts = {**each["interfaces"]}
        low, high = counts.pop("largest")
        rows.append({"ties": _RULES[Ties(each["ties"])], "trees": each["k"], **counts})
        rows[-1] |= {"least_largest": low, "largest": high}
    return rows


def _metrics_5(rows: Rows, _: Parameters) -> Metrics:
    highest = [
        {"ties": ties, "p99": max(row["p99"] for row in group)}
        for (ties,), group in grouped(rows["interfaces"], "ties").items()
    ]
    largest = where(rows["interfaces"], trees=_PAPER_TREES)
    return {
        "most_trees": max(row["trees"] for row in rows["interfaces"]), "highest": highest,
        "highest_of_ours": where(highest, ties=_OURS)[0]["p99"], "largest": largest or None, "runs": len(largest),
        "largest_of_ours": where(largest, ties=_OURS),
    }  # fmt: skip


FIGURE_5 = experiment("2014-figure-5", _surveyed("interfaces", interface_rows, ties=tuple(_RULES)), _metrics_5)


# --- link load


def load_rows(members: Iterable[Row]) -> list[Row]:
    """Return the link load of surveys of k trees."""
    return [{"trees": each["k"], **each["load"]} for each in members]


def _metrics_load(rows: Rows, _: Parameters) -> Metrics:
    first, *_others, last = sorted(rows["load"], key=lambda row: int(row["trees"]))
    return {
        "first": first,
        "last": last,
        "links": last["used"] / first["used"],
        "relief": first["largest"] / last["largest"],
    }


def _charts_load(rows: Rows, _: Parameters) -> dict[str, object]:
    links: list[Row] = rows["load"]
    return {"links-used": {"rows": links, "references": (("all links of the graph", float(links[0]["links"])),)}}


LINK_LOAD = experiment("2014-link-load", _surveyed("load", load_rows), _metrics_load, _charts_load)
