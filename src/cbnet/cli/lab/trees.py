"""`cbnet trees`: what do k trees over a network cost, and what do they gain?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import AsJson, print_json
from cbnet.cli.seeds import seed_option
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.topology import Graph
    from cbnet.topology.survey.tree_statistics import TreeStatistics
    from cbnet.topology.trees.ties import Ties

_MOST_TREES = 1000


def trees(
    topology: Annotated[
        str, typer.Option("--topology", help="A file, or a generator such as powerlaw:200.", show_default=False)
    ],
    k: Annotated[str, typer.Option("--k", help="Numbers of trees, with commas between.")] = "1,8,16,32,64,128",
    sources: Annotated[
        int, typer.Option("--sources", help="Nodes, drawn for each selection, to measure paths from.")
    ] = 50,
    exact: Annotated[bool, typer.Option("--exact", help="Measure paths from all nodes.")] = False,
    selections: Annotated[int, typer.Option("--selections", help="How often roots are selected.")] = 20,
    ties: Annotated[
        str, typer.Option("--ties", help="Rules of ties, with commas between: smallest, random or fresh.")
    ] = "smallest,random",
    largest: Annotated[bool, typer.Option("--largest", help="Take the largest component of the graph.")] = False,
    seed: Annotated[int, seed_option("Another seed makes another graph and other roots.")] = 0,
    json: AsJson = False,
) -> None:
    """Measure how k trees lengthen paths, how many each interface must tell apart, and how they load links.

    Example: cbnet trees --topology aslike:1000 --k 1,8
    """
    from cbnet.cli.lab.tree_output import show_trees
    from cbnet.topology import topology as named
    from cbnet.topology.survey.claims import claims

    ks, rules = _numbers(k), _rules(ties)
    graph = named(topology, seed, largest=largest)
    found = _surveyed(graph, ks, rules, None if exact else sources, selections, seed)
    rows = [each.members(nodes=len(graph), links=graph.edge_count, scale=graph.scale) for each in found]
    checked = [*claims(found, in_hops=graph.is_unit)]
    if json:
        for row in rows:
            print_json({"topology": topology, **row})
        for claim in checked:
            print_json(claim.members())
    else:
        show_trees(topology, graph, rows, checked)


def _numbers(said: str) -> list[int]:
    """Return the numbers of trees that a text lists, rising."""
    parts = [part.strip() for part in said.split(",")]
    if not all(re.fullmatch("[1-9][0-9]{0,3}", part) and int(part) <= _MOST_TREES for part in parts):
        raise InputError(f"--k must list numbers from 1 to {_MOST_TREES:,}, not {said!r}", hint="write --k 8,16,32")
    return sorted({int(part) for part in parts})


def _rules(said: str) -> list[Ties]:
    """Return the rules of ties that a text lists, each once."""
    from cbnet.topology.trees.ties import Ties

    parts = [*dict.fromkeys(part.strip() for part in said.split(","))]
    if not {*parts} <= {*Ties}:
        raise InputError(f"unknown rule of ties in {said!r}", hint=f"choose among {', '.join(Ties)}")
    return [Ties(part) for part in parts]


def _surveyed(
    graph: Graph, ks: list[int], rules: list[Ties], sources: int | None, selections: int, seed: int
) -> list[TreeStatistics]:
    """Survey the graph, with a progress bar where a person waits."""
    from cbnet.cli.progress import progress_bar
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
