"""Figure 5 of [2014 §4.1]: trees that an interface has to distinguish, out of k.

Two trees are equal at an interface if they have the same destinations behind it. The result depends on which of several
shortest paths a tree takes, which the paper does not specify: both rules are shown.
"""

from __future__ import annotations

from collections.abc import Iterable

from cbnet.topology import Ties
from cbnet_lab.experiments.curves import Metrics, Row, grouped, where
from cbnet_lab.experiments.experiment import GRAPH, ExperimentContext, Results, Rows, experiment
from cbnet_lab.experiments.internet import SurveyParameters, graph_rows, internet, tree_members

_PAPER_TREES = 128
_RULES = {Ties.SMALLEST: "smallest parent", Ties.RANDOM: "random parent"}
_OURS = _RULES[Ties.SMALLEST]  # the rule of all our other results


def _run(parameters: SurveyParameters, context: ExperimentContext) -> Results:
    graph = internet(context, parameters.nodes)
    members = tree_members(context, graph, parameters, ties=tuple(_RULES), sources=1)
    return {GRAPH: graph_rows(graph, context), "interfaces": interface_rows(members)}


def interface_rows(members: Iterable[Row]) -> list[Row]:
    """Return the trees per interface of surveys of k trees."""
    rows = []
    for each in members:
        counts = {**each["interfaces"]}
        low, high = counts.pop("largest")
        rows.append({"ties": _RULES[Ties(each["ties"])], "trees": each["k"], **counts})
        rows[-1] |= {"least_largest": low, "largest": high}
    return rows


def _metrics(rows: Rows, _: SurveyParameters) -> Metrics:
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


EXPERIMENT = experiment("2014-figure-5", SurveyParameters, _run, _metrics)
