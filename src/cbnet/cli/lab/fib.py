"""`cbnet fib`: how large is the forwarding table of a router, on one tree or on several?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import AsJson
from cbnet.cli.seeds import seed_option
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.routing.sizing.fib_size import Fibs
    from cbnet.topology import Graph


def fib(
    topology: Annotated[
        str, typer.Option("--topology", help="A file, or a generator such as powerlaw:200.", show_default=False)
    ],
    router: Annotated[
        str, typer.Option("--router", help="A node; central, the one most shortest paths lead through; or all.")
    ] = "central",
    trees: Annotated[
        int | None, typer.Option("--trees", min=1, help="How many trees, with roots drawn by class.")
    ] = None,
    root: Annotated[list[str] | None, typer.Option("--root", help="The root of a tree; repeat it for more.")] = None,
    predicates: Annotated[
        Path | None,
        typer.Option(
            "--predicates", help="Predicates by node: .toml, .jsonl, .parquet or a table.", show_default=False
        ),
    ] = None,
    descriptors: Annotated[
        Path | None,
        typer.Option(
            "--descriptors",
            help="A .tsv or .tsv.gz with a column tags; each row is put at a random node.",
            show_default=False,
        ),
    ] = None,
    largest: Annotated[bool, typer.Option("--largest", help="Take the largest component of the graph.")] = False,
    seed: Annotated[int, seed_option("Another seed makes another graph, roots and places.")] = 0,
    json: AsJson = False,
) -> None:
    """Show what a router keeps: descriptors registered behind its interfaces, and those that are left.

    Example: cbnet fib --topology aslike:1000 --trees 8 --descriptors bookmarks.tsv.gz
    """
    from cbnet.cli.lab.fib_output import show_all, show_router
    from cbnet.cli.lab.roots import chosen_roots
    from cbnet.topology import topology as named

    graph = named(topology, seed, largest=largest)
    roots = chosen_roots(graph, trees, root or [], seed)
    fibs = _fibs(graph, roots, predicates, descriptors, seed)
    names = [graph.name(each) for each in roots]
    if router == "all" and router not in graph.names:
        show_all(fibs, len(graph), as_json=json)
    else:
        show_router(fibs, graph, _router(graph, router), names, as_json=json)


def _fibs(graph: Graph, roots: list[int], predicates: Path | None, descriptors: Path | None, seed: int) -> Fibs:
    if predicates is not None and descriptors is None:
        from cbnet.cli.lab.simulation_input import read_receivers
        from cbnet.routing import Network
        from cbnet.routing.multitree.multitree import MultiTree
        from cbnet.routing.sizing.predicate_fibs import PredicateFibs

        return PredicateFibs(MultiTree(Network(graph, read_receivers(predicates, graph)), roots))
    if descriptors is not None and predicates is None:
        from cbnet.cli.lab.descriptor_file import spread_descriptors
        from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs
        from cbnet.topology import shortest_path_trees

        return DescriptorFibs([*shortest_path_trees(graph, roots)], spread_descriptors(descriptors, len(graph), seed))
    raise InputError("it is not clear who wants what", hint="give either --predicates FILE or --descriptors FILE")


def _router(graph: Graph, said: str) -> int:
    """Return the node of that name, or the most central one."""
    from cbnet.topology import most_central

    return most_central(graph) if said == "central" and said not in graph.names else graph.id(said)
