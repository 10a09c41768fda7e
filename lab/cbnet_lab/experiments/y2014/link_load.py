"""Link load with one and with several trees [2014 §3.1].

Every node sends to every other one, each message on a random tree; the load of a link is the share of all messages that
use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cbnet_lab.experiments.curves import Metrics, Row
from cbnet_lab.experiments.experiment import GRAPH, ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.internet import graph_rows, internet, tree_members


@dataclass(frozen=True)
class LinkLoadParameters:
    """Size of the survey."""

    nodes: int  # of a generated graph
    trees: tuple[int, ...]
    selections: int


def _run(parameters: LinkLoadParameters, context: ExperimentContext) -> Results:
    graph = internet(context, parameters.nodes)
    members = tree_members(context, graph, parameters.trees, parameters.selections, sources=1)
    return {GRAPH: graph_rows(graph, context), "load": [{"trees": each["k"], **each["load"]} for each in members]}


def _metrics(rows: Rows, _: LinkLoadParameters) -> Metrics:
    first, *_others, last = sorted(rows["load"], key=lambda row: int(row["trees"]))
    return {
        "first": first,
        "last": last,
        "links": last["used"] / first["used"],
        "relief": first["largest"] / last["largest"],
    }


def _charts(rows: Rows, _: LinkLoadParameters) -> dict[str, object]:
    links: list[Row] = rows["load"]
    return {"links-used": {"rows": links, "references": (("all links of the graph", float(links[0]["links"])),)}}


EXPERIMENT = experiment("2014-link-load", LinkLoadParameters, _run, _metrics, _charts)
