"""`cbnet lab fib`: size of a router's forwarding table on one or several trees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import plural, print_note
from cbnet.cli.options import RULES_BY_NODE, Json, Largest, seed_option, topology_option
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.routing.sizing.fib_size import Fibs
    from cbnet.topology import Graph


def fib(
    topology: Annotated[str, topology_option()],
    node: Annotated[
        str,
        typer.Option(
            "--node", metavar="NODE", help="Router: a node, `central` (on the most shortest paths), or `all`."
        ),
    ] = "central",
    trees: Annotated[
        int | None,
        typer.Option("--trees", metavar="K", min=1, help="Number of trees with random roots.", show_default="1"),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option("--root", metavar="NODE", help="Root of a tree; repeatable.", show_default=False),
    ] = None,
    rules: Annotated[Path | None, RULES_BY_NODE] = None,
    descriptors: Annotated[
        Path | None,
        typer.Option(
            "--descriptors",
            metavar="FILE",
            help="A .tsv or .tsv.gz with a column `tags`; each row is assigned to a random node.",
            show_default=False,
        ),
    ] = None,
    largest: Largest = False,
    seed: Annotated[int, seed_option("Seed of the graph, the roots and the assignment of descriptors.")] = 0,
    json: Json = False,
) -> None:
    """Show the size of a router's table: descriptors behind its interfaces, before and after reduction.

    Example: cbnet lab fib --topology aslike:1000 --trees 8 --descriptors bookmarks.tsv.gz
    """
    from cbnet.topology import topology as load_graph
    from cbnet.topology.trees.roots import select_roots
    from cbnet_lab.cli.lab.fib_output import show_all, show_router

    graph = load_graph(topology, seed, largest=largest)
    roots = select_roots(graph, trees, root or [], seed)
    fibs = _fibs(graph, roots, rules, descriptors, seed)
    names = [graph.name(each) for each in roots]
    if node == "all" and node not in graph.names:
        show_all(fibs, len(graph), as_json=json)
    else:
        show_router(fibs, graph, _router(graph, node), names, as_json=json)


def _fibs(graph: Graph, roots: list[int], rules: Path | None, descriptors: Path | None, seed: int) -> Fibs:
    if rules is not None and descriptors is None:
        from cbnet.routing import Network
        from cbnet.routing.multitree.multitree import MultiTree
        from cbnet.routing.sizing.predicate_fibs import PredicateFibs
        from cbnet_lab.simulation.inputs import read_receivers

        return PredicateFibs(MultiTree(Network(graph, read_receivers(rules, graph)), roots))
    if descriptors is not None and rules is None:
        from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs
        from cbnet.routing.sizing.descriptor_file import random_descriptors
        from cbnet.topology import shortest_path_trees

        sets, empty = random_descriptors(descriptors, len(graph), seed)
        if empty:
            print_note(f"{descriptors}: {plural(empty, 'row')} without tags left out")
        return DescriptorFibs([*shortest_path_trees(graph, roots)], sets)
    raise InputError("no receivers given", hint="give exactly one of --rules FILE and --descriptors FILE")


def _router(graph: Graph, name: str) -> int:
    """Return the node of that name, or the most central node."""
    from cbnet.topology import most_central

    return most_central(graph) if name == "central" and name not in graph.names else graph.id(name)
