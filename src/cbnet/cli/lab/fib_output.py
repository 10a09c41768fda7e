"""FIB output: how is the size of forwarding tables shown?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import counted, print_json
from cbnet.cli.grids import add_cells, new_grid

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.routing.sizing.fib_size import Fibs
    from cbnet.topology import Graph

_TABLE_1 = {
    "interfaces": "interfaces", "destinations": "destinations", "tags": "tags", "descriptors": "descriptors",
    "kept": "descriptors kept", "bytes": "bytes at 50 each", "compiled_bytes": "bytes compiled",
}  # fmt: skip
_ENTRIES = {
    "per_tree": "a table for each tree",
    "grouped": "one for trees that look alike from there",
    "folded": "one for all, with tree tags",
    "grouped_and_folded": "one for all, with tags of such groups",
}


def show_router(fibs: Fibs, graph: Graph, router: int, roots: Sequence[str | int], *, as_json: bool) -> None:
    """Print the rows of Table 1 for each tree, all interfaces and the largest; then the entries for all trees."""
    name = graph.name(router)
    rows = [row for tree, root in enumerate(roots) for row in _rows(fibs, graph, router, tree, root)]
    entries = {"router": name, "trees": len(roots), **asdict(fibs.entries(router))}
    if as_json:
        for each in (*rows, entries):
            print_json(each)
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.print(f"router {name}: {counted(len(graph.neighbours(router)), 'neighbour')}\n", markup=False)
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
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_entries_grid(entries))


def _rows(fibs: Fibs, graph: Graph, router: int, tree: int, root: str | int) -> list[dict[str, Any]]:
    """Return the row of all interfaces on a tree, and that of the largest one."""
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
    """Return the bytes of the compiled table as a file."""
    with TemporaryDirectory() as folder:
        return fibs.table(router, tree, neighbours).save(Path(folder) / "table")


def _table_1(rows: Sequence[dict[str, Any]]) -> Grid:
    """Return the table of one tree as the paper has it."""
    heads = ["all interfaces", *(f"the largest, to {row['interface']}" for row in rows[1:])]
    grid = new_grid(f"On the tree from {rows[0]['root']}", "", *heads)
    for key, said in _TABLE_1.items():
        add_cells(grid, said, *(f"{row[key]:,}" for row in rows))
    return grid


def _trees_grid(rows: Sequence[dict[str, Any]]) -> Grid:
    """Return a table with a row for each of several trees."""
    grid = new_grid("On each tree", "tree", "root", "interfaces", "kept", "largest to", "destinations", "kept")
    found: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["tree"], []).append(row)
    for tree, (whole, *largest) in found.items():
        parts = [(row["interface"], f"{row['destinations']:,}", f"{row['kept']:,}") for row in largest]
        counts = (f"{whole['interfaces']:,}", f"{whole['kept']:,}")
        add_cells(grid, tree, whole["root"], *counts, *(parts[0] if parts else ()))
    return grid


def _entries_grid(entries: dict[str, Any]) -> Grid:
    where = "all routers" if "routers" in entries else "this router"
    grid = new_grid(f"Entries of {where} for {counted(entries['trees'], 'tree')}", "tables", "entries")
    for name, said in _ENTRIES.items():
        add_cells(grid, said, f"{entries[name]:,}")
    return grid
