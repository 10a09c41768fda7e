"""`cbnet lab trees`: cost and benefit of k trees over a network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import print_json
from cbnet.cli.options import Json, Largest, seed_option, topology_option
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.topology import Graph
    from cbnet.topology.survey.tree_statistics import TreeStatistics
    from cbnet.topology.trees.ties import Ties

_MAX_TREES = 1000


def trees(
    topology: Annotated[str, topology_option()],
    k: Annotated[
        str, typer.Option("--k", metavar="K,...", help="Numbers of trees, separated by commas.")
    ] = "1,8,16,32,64,128",
    sources: Annotated[
        int, typer.Option("--sources", metavar="N", help="Number of random nodes per selection to measure paths from.")
    ] = 50,
    exact: Annotated[bool, typer.Option("--exact", help="Measure paths from all nodes.")] = False,
    selections: Annotated[
        int, typer.Option("--selections", metavar="N", help="Number of random selections of roots.")
    ] = 20,
    ties: Annotated[
        str,
        typer.Option(
            "--ties", metavar="RULE,...", help="Tie-breaking rules, separated by commas: smallest, random or fresh."
        ),
    ] = "smallest,random",
    largest: Largest = False,
    seed: Annotated[int, seed_option("Seed of the graph and the roots.")] = 0,
    json: Json = False,
) -> None:
    """Measure the path lengths, trees per interface and link load of k trees.

    Example: cbnet lab trees --topology aslike:1000 --k 1,8
    """
    from cbnet.topology import topology as load_graph
    from cbnet.topology.survey.claims import claims
    from cbnet_lab.cli.lab.tree_output import show_trees

    ks, rules = _numbers(k), _rules(ties)
    graph = load_graph(topology, seed, largest=largest)
    findings = _survey(graph, ks, rules, None if exact else sources, selections, seed)
    rows = [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in findings]
    compared = [*claims(findings, in_hops=graph.is_unit)]
    if json:
        for row in rows:
            print_json({"topology": topology, **row})
        for claim in compared:
            print_json(claim.members())
    else:
        show_trees(topology, graph, rows, compared)


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


def _survey(
    graph: Graph, ks: list[int], rules: list[Ties], sources: int | None, selections: int, seed: int
) -> list[TreeStatistics]:
    """Survey the graph, with a progress bar."""
    from cbnet.cli.console import progress_bar
    from cbnet.topology.survey.survey import survey

    with progress_bar() as bar:
        steps = len(rules) * selections * min(sources or len(graph), len(graph))
        task = bar.add_task("trees", total=steps)
        return survey(
            graph,
            ks,
            ties=rules,
            sources=sources,
            selections=selections,
            seed=seed,
            done=lambda: bar.advance(task),
        )
