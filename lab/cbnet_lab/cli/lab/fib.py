"""`cbnet lab fib`: size of a router's forwarding table on one or several trees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.cli.console import plural, print_note
from cbnet.cli.options import GRAPH
from cbnet.errors import InputError
from cbnet_lab.bench.plan_options import option, seed
from cbnet_lab.cli.bench.plan_command import plan_function

if TYPE_CHECKING:
    from cbnet.routing.sizing.fib_size import Fibs
    from cbnet.topology import Graph


@dataclass(frozen=True)
class FibPlan:
    """Show the size of a router's table: descriptors behind its interfaces, before and after reduction.

    Example: cbnet lab fib --topology aslike:1000 --trees 8 --descriptors bookmarks.tsv.gz
    """

    topology: str = option(..., "GRAPH", GRAPH, name="--topology -t", shown=False)
    node: str = option("central", "NODE", "Router: a node, `central` (on the most shortest paths), or `all`.")
    trees: int | None = option(None, "K", "Number of trees with random roots.", shown="1", least=1)
    root: tuple[str, ...] = option((), "NODE", "Root of a tree; repeatable.", shown=False)
    rules: Path | None = option(
        None, "FILE", "Rule file (.toml, .jsonl, .parquet) or compiled table (.cbt); interfaces are nodes.",
        name="--rules -r", shown=False,
    )  # fmt: skip
    descriptors: Path | None = option(
        None, "FILE", "A .tsv or .tsv.gz with a column `tags`; each row is assigned to a random node.", shown=False
    )
    largest: bool = option(False, "", "Use the largest component of a disconnected graph.", name="--largest")
    seed: int = seed("Seed of the graph, the roots and the assignment of descriptors.")


def _show(plan: FibPlan, as_json: bool) -> None:
    from cbnet.topology import topology as load_graph
    from cbnet.topology.trees.roots import select_roots
    from cbnet_lab.cli.lab.fib_output import show_all, show_router

    graph = load_graph(plan.topology, plan.seed, largest=plan.largest)
    roots = select_roots(graph, plan.trees, list(plan.root), plan.seed)
    fibs = _fibs(graph, roots, plan.rules, plan.descriptors, plan.seed)
    if plan.node == "all" and plan.node not in graph.names:
        show_all(fibs, len(graph), as_json=as_json)
    else:
        names = [graph.name(each) for each in roots]
        show_router(fibs, graph, _router(graph, plan.node), names, as_json=as_json)


fib = plan_function("fib", FibPlan, _show)


def _fibs(graph: Graph, roots: list[int], rules: Path | None, descriptors: Path | None, seed: int) -> Fibs:
    if rules is not None and descriptors is None:
        from cbnet.routing import Network
        from cbnet.routing.multitree.multitree import MultiTree
        from cbnet.routing.sizing.predicate_fibs import PredicateFibs
        from cbnet_lab.cli.lab.simulation.inputs import read_receivers

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
