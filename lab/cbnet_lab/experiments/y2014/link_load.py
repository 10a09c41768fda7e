"""Link load with one and with several trees [2014 §3.1].

Every node sends to every other one, each message on a random tree; the load of a link is the share of all messages that
use it.
"""

from __future__ import annotations

from collections.abc import Iterable

from cbnet_lab.experiments.curves import Metrics, Row
from cbnet_lab.experiments.experiment import GRAPH, ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.internet import SurveyParameters, graph_rows, internet, tree_members


def _run(parameters: SurveyParameters, context: ExperimentContext) -> Results:
    graph = internet(context, parameters.nodes)
    members = tree_members(context, graph, parameters, sources=1)
    return {GRAPH: graph_rows(graph, context), "load": load_rows(members)}


def load_rows(members: Iterable[Row]) -> list[Row]:
    """Return the link load of surveys of k trees."""
    return [{"trees": each["k"], **each["load"]} for each in members]


def _metrics(rows: Rows, _: SurveyParameters) -> Metrics:
    first, *_others, last = sorted(rows["load"], key=lambda row: int(row["trees"]))
    return {
        "first": first,
        "last": last,
        "links": last["used"] / first["used"],
        "relief": first["largest"] / last["largest"],
    }


def _charts(rows: Rows, _: SurveyParameters) -> dict[str, object]:
    links: list[Row] = rows["load"]
    return {"links-used": {"rows": links, "references": (("all links of the graph", float(links[0]["links"])),)}}


EXPERIMENT = experiment("2014-link-load", SurveyParameters, _run, _metrics, _charts)
