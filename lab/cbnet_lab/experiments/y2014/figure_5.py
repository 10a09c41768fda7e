"""Figure 5 of [2014 §4.1]: trees that an interface has to distinguish, out of k.

Two trees are equal at an interface if they have the same destinations behind it. The result depends on which of several
shortest paths a tree takes, which is not in the paper: both rules are shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet.topology import Ties
from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import Row, as_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.internet import PAPER_NODES, TABLE, graph_table, internet, internet_finding
from cbnet_lab.report.chart import Chart, PublishedValue

_HANDFUL = 10
_PAPER_MAX, _PAPER_TREES = 90, 128
_CLOSE = 0.2  # of the paper's number
_RULES = {Ties.SMALLEST: "smallest parent", Ties.RANDOM: "random parent"}
_OURS = _RULES[Ties.SMALLEST]  # the rule of all our other results
_FEW = ClaimRule(77, f"99 % of the interfaces have at most {_HANDFUL} distinct trees, for every number of trees")
_MOST = ClaimRule(
    78,
    f"the largest number over the selections is within {_CLOSE:.0%} of {_PAPER_MAX} with {_PAPER_TREES} trees and the "
    f"{_OURS}, the tie rule of all our results",
)


@dataclass(frozen=True)
class Figure5Parameters2014:
    """Size of the survey."""

    nodes: int  # of a generated graph
    trees: tuple[int, ...]
    selections: int


def _run(parameters: Figure5Parameters2014, context: ExperimentContext) -> dict[str, pa.Table]:
    from cbnet.pipeline.run.tree_curves import tree_curves

    graph = internet(context, parameters.nodes)
    curves = tree_curves(
        context.spark(),
        graph,
        parameters.trees,
        ties=tuple(_RULES),
        sources=1,
        selections=parameters.selections,
        seed=context.seed,
    )
    rows = []
    for each in curves:
        counts = each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale)["interfaces"]
        low, high = counts.pop("largest")
        rows.append({"ties": _RULES[each.ties], "trees": each.k, **counts, "least_largest": low, "largest": high})
    return {TABLE: graph_table(graph, context), "interfaces": as_table(rows)}


def _findings(tables: Tables, parameters: Figure5Parameters2014) -> list[Finding]:
    rows = tables["interfaces"].to_pylist()
    return [_handful(tables, rows, max(parameters.trees)), _maximum(tables, rows)]


def _handful(tables: Tables, rows: list[Row], trees: int) -> Finding:
    highest = {rule: max(row["p99"] for row in rows if row["ties"] == rule) for rule in _RULES.values()}
    ours = ", ".join(f"at most {top:g} ({rule})" for rule, top in highest.items())
    ours = f"99 % of the interfaces, up to {trees} trees: {ours}"
    condition = "" if max(highest.values()) <= _HANDFUL else "it depends on the tie rule, which is not in the paper"
    reason = f"more than {_HANDFUL} with the {_OURS}"
    return internet_finding(tables, _FEW, ours, highest[_OURS] <= _HANDFUL, reason, condition)


def _maximum(tables: Tables, rows: list[Row]) -> Finding:
    largest = {row["ties"]: (row["least_largest"], row["largest"]) for row in rows if row["trees"] == _PAPER_TREES}
    if not largest:
        return _MOST.unmeasured("-", f"no run with {_PAPER_TREES} trees")
    ours = "; ".join(f"{low} to {high} ({rule})" for rule, (low, high) in largest.items())
    close = {rule: abs(high - _PAPER_MAX) <= _CLOSE * _PAPER_MAX for rule, (_, high) in largest.items()}
    others = [rule for rule, is_close in close.items() if is_close and rule != _OURS]
    reason = f"more than {_CLOSE:.0%} from {_PAPER_MAX} with the {_OURS}"
    reason += f"; it is close with the {others[0]}" if others else ", and with the other tie rule"
    return internet_finding(tables, _MOST, ours, close[_OURS], reason)


def _charts(tables: Tables, _: Figure5Parameters2014) -> list[Chart]:
    return [
        Chart(
            "distinct-trees", "Distinct trees at an interface: percentiles 1, 25, 50, 75 and 99", tables["interfaces"],
            "trees", "p50", "boxes", series="ties", x_title="trees", y_title="distinct trees",
            bands=(("p1", "p99"), ("p25", "p75")),
            description="Boxes from the 25th to the 75th percentile of the interfaces, lines from the 1st to the "
            "99th, by both tie rules.",
        ),
        Chart(
            "most-distinct-trees", "Maximum of distinct trees at one interface", tables["interfaces"], "trees",
            "largest", series="ties", x_log=True, x_title="trees", y_title="distinct trees",
            published=(PublishedValue(f"{_PAPER_MAX} with {_PAPER_TREES} trees", _PAPER_TREES, _PAPER_MAX),),
            description="The maximum over all interfaces and selections, by both tie rules.",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2014-figure-5",
    title="Figure 5: an interface has to distinguish few trees",
    paper="2014",
    section="§4.1, Figure 5",
    claims=(77, 78),
    scales={
        "quick": Figure5Parameters2014(2_000, (8, 16, 32, 64, 128), 4),
        "full": Figure5Parameters2014(2_000, (8, 16, 32, 64, 128), 10),
        "paper": Figure5Parameters2014(PAPER_NODES, (8, 16, 32, 64, 128), 20),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=(
        "Distinct trees of an interface: distinct sets of destinations behind it, where some tree uses it.",
        "Which of several shortest paths a tree takes is not in the paper: by the smallest parent, or by a random one.",
        f"A handful is at most {_HANDFUL}. The smallest parent decides, as in all our other results.",
    ),
    inputs=("topology",),
)
