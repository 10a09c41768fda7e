"""Link load with one and with several trees [2014 §3.1].

Every node sends to every other one, each message on a random tree; the load of a link is the share of all messages that
use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cbnet_lab.experiments.claim import ClaimRule, Finding
from cbnet_lab.experiments.curves import as_table
from cbnet_lab.experiments.experiment import Experiment, ExperimentContext, Tables
from cbnet_lab.experiments.internet import PAPER_NODES, TABLE, graph_table, internet, internet_finding
from cbnet_lab.report.chart import Chart

_RULE = ClaimRule(69, "the largest number of trees uses more links than one tree, and its busiest link carries less")


@dataclass(frozen=True)
class LinkLoadParameters:
    """Size of the survey."""

    nodes: int  # of a generated graph
    trees: tuple[int, ...]
    selections: int


def _run(parameters: LinkLoadParameters, context: ExperimentContext) -> dict[str, pa.Table]:
    from cbnet.pipeline.run.tree_curves import tree_curves

    graph = internet(context, parameters.nodes)
    curves = tree_curves(
        context.spark(), graph, parameters.trees, sources=1, selections=parameters.selections, seed=context.seed
    )
    members = [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in curves]
    rows = [{"trees": each["k"], **each["load"]} for each in members]
    return {TABLE: graph_table(graph, context), "load": as_table(rows)}


def _findings(tables: Tables, _: LinkLoadParameters) -> list[Finding]:
    rows = sorted(tables["load"].to_pylist(), key=lambda row: row["trees"])
    first, last = rows[0], rows[-1]
    links, load = last["used"] / first["used"], first["largest"] / last["largest"]
    ours = (
        f"{last['trees']} trees use {links:.1f} times the links of {first['trees']}; "
        f"the largest load is 1/{load:.1f} of that of one"
    )
    reason = "the trees use no more links, or the largest load is no smaller"
    return [internet_finding(tables, _RULE, ours, links > 1 and load > 1, reason)]


def _charts(tables: Tables, _: LinkLoadParameters) -> list[Chart]:
    rows = [
        {"trees": row["trees"], "load": row[column], "of": label}
        for row in tables["load"].to_pylist()
        for column, label in (("largest", "the busiest link"), ("mean", "mean of the links used"))
    ]
    return [
        Chart(
            "links-used", "Links used by the trees", tables["load"], "trees", "used", x_log=True, x_title="trees",
            y_title="links", references=(("all links of the graph", float(tables["load"]["links"][0].as_py())),),
            description="Links on at least one of the trees, and all links of the graph.",
        ),
        Chart(
            "link-loads", "Share of all messages on a link", as_table(rows), "trees", "load", series="of", x_log=True,
            y_log=True, x_title="trees", y_title="share of the messages",
            description="The load of the busiest link, and the mean of all links used, for growing numbers of trees.",
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    name="2014-link-load",
    title="Several trees spread the traffic",
    paper="2014",
    section="§3.1",
    claims=(69,),
    scales={
        "quick": LinkLoadParameters(2_000, (1, 2, 4, 8, 16, 32, 64, 128), 4),
        "full": LinkLoadParameters(2_000, (1, 2, 4, 8, 16, 32, 64, 128), 10),
        "paper": LinkLoadParameters(PAPER_NODES, (1, 2, 4, 8, 16, 32, 64, 128), 20),
    },
    run=_run,
    findings=_findings,
    charts=_charts,
    choices=("The traffic is not in the paper: every node sends equally often to every other one, on a random tree.",),
    inputs=("topology",),
)
