"""`cbnet lab trees`: cost and benefit of k trees over a network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cbnet.cli.console import print_json
from cbnet.cli.options import GRAPH
from cbnet.errors import InputError
from cbnet_lab.bench.plan_options import option, seed
from cbnet_lab.cli.bench.plan_command import plan_function

if TYPE_CHECKING:
    from cbnet.topology import Graph
    from cbnet.topology.survey.tree_statistics import TreeStatistics
    from cbnet.topology.trees.ties import Ties

_MAX_TREES = 1000


@dataclass(frozen=True)
class TreesPlan:
    """Measure the path lengths, trees per interface and link load of k trees.

    Example: cbnet lab trees --topology aslike:1000 --k 1,8
    """

    topology: str = option(..., "GRAPH", GRAPH, name="--topology -t", shown=False)
    k: str = option("1,8,16,32,64,128", "K,...", "Numbers of trees, separated by commas.")
    sources: int = option(50, "N", "Number of random nodes per selection to measure paths from.")
    exact: bool = option(False, "", "Measure paths from all nodes.", name="--exact")
    selections: int = option(20, "N", "Number of random selections of roots.")
    ties: str = option(
        "smallest,random", "RULE,...", "Tie-breaking rules, separated by commas: smallest, random or fresh."
    )
    largest: bool = option(False, "", "Use the largest component of a disconnected graph.", name="--largest")
    seed: int = seed("Seed of the graph and the roots.")


def _show(plan: TreesPlan, as_json: bool) -> None:
    from cbnet.topology import topology as load_graph
    from cbnet.topology.survey.claims import claims
    from cbnet_lab.cli.lab.tree_output import show_trees

    ks, rules = _numbers(plan.k), _rules(plan.ties)
    graph = load_graph(plan.topology, plan.seed, largest=plan.largest)
    findings = _survey(graph, ks, rules, plan)
    rows = [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in findings]
    compared = [*claims(findings, in_hops=graph.is_unit)]
    if as_json:
        for row in rows:
            print_json({"topology": plan.topology, **row})
        for claim in compared:
            print_json(claim.members())
    else:
        show_trees(plan.topology, graph, rows, compared)


trees = plan_function("trees", TreesPlan, _show)


def _numbers(text: str) -> list[int]:
    """Return the numbers of trees in a list, sorted."""
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[1-9][0-9]{0,3}", part) and int(part) <= _MAX_TREES for part in parts):
        raise InputError(f"--k must list numbers from 1 to {_MAX_TREES:,}, not {text!r}", hint="write --k 8,16,32")
    return sorted({int(part) for part in parts})


def _rules(text: str) -> list[Ties]:
    """Return the tie-breaking rules in a list, each once."""
    from cbnet.topology.trees.ties import Ties

    parts = [*dict.fromkeys(part.strip() for part in text.split(","))]
    if not {*parts} <= {*Ties}:
        raise InputError(f"unknown tie-breaking rule in {text!r}", hint=f"choose among {', '.join(Ties)}")
    return [Ties(part) for part in parts]


def _survey(graph: Graph, ks: list[int], rules: list[Ties], plan: TreesPlan) -> list[TreeStatistics]:
    """Survey the graph, with a progress bar."""
    from cbnet.cli.console import progress_bar
    from cbnet.topology.survey.survey import survey

    sources, selections = None if plan.exact else plan.sources, plan.selections
    with progress_bar() as bar:
        task = bar.add_task("trees", total=len(rules) * selections * min(sources or len(graph), len(graph)))
        return survey(
            graph, ks, ties=rules, sources=sources, selections=selections, seed=plan.seed,
            done=lambda: bar.advance(task),
        )  # fmt: skip
