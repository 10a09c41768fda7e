"""`cbnet lab fib`: size of a router's forwarding table on one or several trees."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import plural, print_note
from cbnet.cli.options import GRAPH, JSON, flag, option
from cbnet.errors import InputError
from cbnet_lab.bench.plan_options import seed
from cbnet_lab.bench.result_table import Cell, ResultTable
from cbnet_lab.cli.bench.plan_command import print_results

if TYPE_CHECKING:
    from cbnet.routing.sizing.fib_size import Fibs
    from cbnet.topology import Graph


_TABLE_1: dict[str, Cell[dict[str, Any]]] = {
    "tree": "tree",
    "root": "root",
    "interfaces": lambda row: f"all {row['interfaces']}" if row["interface"] is None else f"to {row['interface']}",
    "destinations": "destinations",
    "tags": "tags",
    "descriptors": "descriptors",
    "kept": "kept",
    "bytes": "bytes",
    "compiled": "compiled_bytes",
}
_ENTRIES: dict[str, Cell[dict[str, Any]]] = {
    "one table per tree": "per_tree",
    "one per group of equal trees": "grouped",
    "one table with tree tags": "folded",
    "one table with group tags": "grouped_and_folded",
}


@dataclass(frozen=True)
class FibPlan:
    """The options of `cbnet lab fib`."""

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
    largest: bool = flag("Use the largest component of a disconnected graph.")
    seed: int = seed("Seed of the graph, the roots and the assignment of descriptors.")


def fib(plan: FibPlan, as_json: bool = JSON) -> None:
    """Show the size of a router's table: descriptors behind its interfaces, before and after reduction.

    Example: cbnet lab fib --topology aslike:1000 --trees 8 --descriptors bookmarks.tsv.gz
    """
    from cbnet.topology import most_central
    from cbnet.topology import topology as load_graph
    from cbnet_lab.cli.lab.simulation_plan import select_roots

    graph = load_graph(plan.topology, plan.seed, largest=plan.largest)
    roots = select_roots(graph, plan.trees, list(plan.root), plan.seed)
    fibs = _fibs(graph, roots, plan)
    if plan.node == "all" and plan.node not in graph.names:
        entries = {"router": "all", "routers": len(graph), "trees": len(roots), **asdict(fibs.total())}
        print_results([entries], [_entries(entries, "all routers")], as_json=as_json, tight=True)
        return
    is_central = plan.node == "central" and plan.node not in graph.names
    router = most_central(graph) if is_central else graph.id(plan.node)
    rows = [row for tree, root in enumerate(roots) for row in _rows(fibs, graph, router, tree, graph.name(root))]
    entries = {"router": graph.name(router), "trees": len(roots), **asdict(fibs.entries(router))}
    neighbours = plural(len(graph.neighbours(router)), "neighbour")
    shown: list[str | ResultTable[dict[str, Any]]] = [
        f"router {graph.name(router)}: {neighbours}\n",
        ResultTable("Descriptors behind all interfaces, and behind the largest", rows, _TABLE_1),
        _entries(entries, "this router"),
    ]
    print_results([*rows, entries], shown, as_json=as_json, tight=True)


def _fibs(graph: Graph, roots: list[int], plan: FibPlan) -> Fibs:
    if plan.rules is not None and plan.descriptors is None:
        from cbnet.routing import Network
        from cbnet.routing.multitree.multitree import MultiTree
        from cbnet.routing.sizing.predicate_fibs import PredicateFibs
        from cbnet_lab.cli.lab.simulation_inputs import read_receivers

        return PredicateFibs(MultiTree(Network(graph, read_receivers(plan.rules, graph)), roots))
    if plan.descriptors is not None and plan.rules is None:
        from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs
        from cbnet.routing.sizing.descriptor_sets import random_descriptors
        from cbnet.topology import shortest_path_trees

        sets, empty = random_descriptors(plan.descriptors, len(graph), plan.seed)
        if empty:
            print_note(f"{plan.descriptors}: {plural(empty, 'row')} without tags left out")
        return DescriptorFibs([*shortest_path_trees(graph, roots)], sets)
    raise InputError("no receivers given", hint="give exactly one of --rules FILE and --descriptors FILE")


def _rows(fibs: Fibs, graph: Graph, router: int, tree: int, root: str | int) -> list[dict[str, Any]]:
    """Return the rows of [2014 Table 1] on a tree: of all interfaces, and of the largest one."""
    from cbnet.routing.sizing.fib_size import PAPER_BYTES, FibSize, largest

    sizes = fibs.sizes(router, tree)
    chosen: dict[str | int | None, Collection[int]] = {None: sizes.keys()}
    if sizes:
        first = largest(sizes)
        chosen[graph.name(first)] = [first]
    rows = []
    for interface, neighbours in chosen.items():
        size = sum((sizes[w] for w in neighbours), FibSize())
        with TemporaryDirectory() as folder:
            compiled = fibs.table(router, tree, neighbours).save(Path(folder) / "table") if neighbours else 0
        rows.append(
            {"router": graph.name(router), "tree": tree + 1, "root": root, "interface": interface, **asdict(size),
             "bytes": PAPER_BYTES * size.kept, "compiled_bytes": compiled}
        )  # fmt: skip
    return rows


def _entries(entries: dict[str, Any], scope: str) -> ResultTable[dict[str, Any]]:
    return ResultTable(f"Entries of {scope} for {plural(entries['trees'], 'tree')}", [entries], _ENTRIES, is_list=True)
