"""`cbnet inspect`: what does a compiled table hold, and where do its bytes go?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import AsJson, print_json
from cbnet.cli.grids import add_cells, bar_grid, new_grid

if TYPE_CHECKING:
    from rich.table import Table as Grid

_SIZES = 12  # of filters, shown one by one
_FILTERS = {
    "always": "empty: match always", "single": "of one constraint", "other": "of more",
    "covered": "covered by others", "repeated": "repeated", "matched_against": "matched against",
}  # fmt: skip


def inspect(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A table of `cbnet compile`.", show_default=False)],
    json: AsJson = False,
) -> None:
    """Show what a compiled table holds, and where its bytes go. Every byte of it is checked first.

    Example: cbnet inspect table.cbt
    """
    from cbnet.matching.compiled_table import Compiled
    from cbnet.matching.statistics import table_statistics

    said = table_statistics(Compiled.open(table, verify=True), table.stat().st_size)
    if json:
        print_json(said)
        return
    from rich.columns import Columns
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(str(table))}[/]: engine {said['engine']}, version {said['version']}\n")
    console.print(Columns([grid for grid in _grids(said) if grid.row_count], padding=(0, 3)))


def _grids(said: dict[str, Any]) -> Iterator[Grid]:
    from cbnet.language.notation import format_name, format_tag

    constraints, filters, interfaces = said["constraints"], said["filters"], said["interfaces"]
    yield _counts(said)
    parts = [(row["part"], row["bytes"]) for row in said["parts"]]
    yield bar_grid("Where the bytes go", "part", "bytes", parts, said["bytes"])
    tests = [(f"{row['type']} {row['operator']}", row["constraints"]) for row in said["tests"]]
    yield bar_grid("Types and operators", "test", "constraints", tests, constraints)
    sizes = [(row["constraints"], row["filters"]) for row in said["filter_sizes"]]
    yield bar_grid("Sizes of filters", "constraints", "filters", _shortened(sizes), filters)
    names = [(format_name(row["name"]), row["constraints"]) for row in said["top_names"]]
    yield bar_grid("Commonest names", "name", "constraints", names, constraints)
    tags = [(format_tag(row["name"]), row["constraints"]) for row in said["top_tags"]]
    yield bar_grid("Commonest tags", "tag", "constraints", tags, constraints)
    determinants = [
        ((format_tag if row["is_tag"] else format_name)(row["name"]), row["interfaces"]) for row in said["determinants"]
    ]
    yield bar_grid("Selectivity table", "a message without", "excludes interfaces", determinants, interfaces)


def _counts(said: dict[str, Any]) -> Grid:
    grid = new_grid("In all", "", "")
    grid.show_header = False
    rows = {
        "interfaces": said["interfaces"], "filters": said["filters"],
        **{f"  {_FILTERS[key]}": count for key, count in {**said["filter_kinds"], **said["reduction"]}.items()},
        "constraints": said["constraints"], "bytes": said["bytes"], "  per constraint": said["bytes_per_constraint"],
        **{f"distinct {what}": count for what, count in said["distinct"].items()},
    }  # fmt: skip
    for what, count in rows.items():
        add_cells(grid, what, f"{count:,}")
    return grid


def _shortened(sizes: list[tuple[int, int]]) -> list[tuple[object, int]]:
    """Return the counts of the smallest filters one by one, and those of all others together."""
    if len(sizes) <= _SIZES:
        return [*sizes]
    rest = sizes[_SIZES - 1 :]
    return [*sizes[: _SIZES - 1], (f"{rest[0][0]} to {rest[-1][0]}", sum(count for _, count in rest))]
