"""Output of `cbnet lab fib`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import add_cells, new_grid, plural, print_json, results_console

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.routing.sizing.fib_size import Fibs
    from cbnet.topology import Graph

_TABLE_1 = {
    "interfaces": "interfaces", "destinations": "destinations", "tags": "tags", "descriptors": "descriptors",
    "kept": "descriptors kept", "bytes": "bytes at 50 each", "compiled_bytes": "bytes compiled",
}  # fmt: skip
_ENTRIES = {
    "per_tree": "one table per tree",
    "grouped": "one per group of equal trees",
    "folded": "one table with tree tags",
    "grouped_and_folded": "one table with group tags",
}


def show_router(fibs: Fibs, graph: Graph, router: int, roots: Sequence[str | int], *, as_json: bool) -> None:
    """Print the rows of Table 1 for each tree (all interfaces and the largest), then the entries for all trees."""
    name = graph.name(router)
    rows = [row for tree, root in enumerate(roots) for row in _rows(fibs, graph, router, tree, root)]
    entries = {"router": name, "trees": len(roots), **asdict(fibs.entries(router))}
    if as_json:
        for each in (*rows, entries):
            print_json(each)
        return

    console = results_console()
    console.print(f"router {name}: {plural(len(graph.neighbours(router)), 'neighbour')}\n", markup=False)
    if len(roots) == 1:
        console.print(_table_1(rows))
    else:
        console.print(_trees_grid(rows), _entries_grid(entries))


def show_all(fibs: Fibs, routers: int, *, as_json: bool) -> None:
    """Print the entries of all routers."""
    entries = {"router": "all", "routers": routers, "trees": len(fibs.trees), **asdict(fibs.total())}
    if as_json:
        print_json(entries)
        return

    console = results_console()
    console.print(_entries_grid(entries))


def _rows(fibs: Fibs, graph: Graph, router: int, tree: int, root: str | int) -> list[dict[str, Any]]:
    """Return the rows of all interfaces on a tree and of the largest one."""
    from cbnet.routing.sizing.fib_size import PAPER_BYTES, FibSize, largest

    sizes = fibs.sizes(router, tree)
    chosen: dict[str | int | None, Collection[int]] = {None: sizes.keys()}
    if sizes:
        first = largest(sizes)
        chosen[graph.name(first)] = [first]
    rows = []
    for interface, neighbours in chosen.items():
        size = sum((sizes[w] for w in neighbours), FibSize())
        compiled = _file_size(fibs, router, tree, neighbours) if neighbours else 0
        rows.append(
            {"router": graph.name(router), "tree": tree + 1, "root": root, "interface": interface, **asdict(size),
             "bytes": PAPER_BYTES * size.kept, "compiled_bytes": compiled}
        )  # fmt: skip
    return rows


def _file_size(fibs: Fibs, router: int, tree: int, neighbours: Collection[int]) -> int:
    """Return the size of the compiled table file in bytes."""
    with TemporaryDirectory() as folder:
        return fibs.table(router, tree, neighbours).save(Path(folder) / "table")


def _table_1(rows: Sequence[dict[str, Any]]) -> Grid:
    """Return the table of one tree in the layout of the paper."""
    heads = ["all interfaces", *(f"largest, to {row['interface']}" for row in rows[1:])]
    grid = new_grid(f"On the tree from {rows[0]['root']}", "", *heads)
    for key, label in _TABLE_1.items():
        add_cells(grid, label, *(f"{row[key]:,}" for row in rows))
    return grid


def _trees_grid(rows: Sequence[dict[str, Any]]) -> Grid:
    """Return a table with a row for each tree."""
    grid = new_grid("On each tree", "tree", "root", "interfaces", "kept", "largest to", "destinations", "kept")
    by_tree: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_tree.setdefault(row["tree"], []).append(row)
    for tree, (whole, *largest) in by_tree.items():
        parts = [(row["interface"], f"{row['destinations']:,}", f"{row['kept']:,}") for row in largest]
        counts = (f"{whole['interfaces']:,}", f"{whole['kept']:,}")
        add_cells(grid, tree, whole["root"], *counts, *(parts[0] if parts else ()))
    return grid


def _entries_grid(entries: dict[str, Any]) -> Grid:
    scope = "all routers" if "routers" in entries else "this router"
    grid = new_grid(f"Entries of {scope} for {plural(entries['trees'], 'tree')}", "tables", "entries")
    for name, label in _ENTRIES.items():
        add_cells(grid, label, f"{entries[name]:,}")
    return grid
