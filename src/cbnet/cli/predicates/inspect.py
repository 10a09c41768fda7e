"""`cbnet inspect`: facts of a compiled table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import add_cells, bar_grid, new_grid, print_json
from cbnet.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table as Grid

_MAX_SIZES = 12  # rows of filter sizes
_FILTERS = {
    "always": "empty: always match", "single": "with one constraint", "other": "with more",
    "covered": "covered by others", "repeated": "repeated", "matched_against": "matched against",
}  # fmt: skip


def inspect(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="Table file written by `cbnet compile`.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Verify a compiled table, and show its contents and the size of its parts.

    Example: cbnet inspect table.cbt
    """
    from cbnet.matching.compiled_table import CompiledTable
    from cbnet.matching.statistics import table_statistics

    facts = table_statistics(CompiledTable.open(table, verify=True), table.stat().st_size)
    if json:
        print_json(facts)
        return
    from rich.columns import Columns
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(str(table))}[/]: engine {facts['engine']}, version {facts['version']}\n")
    console.print(Columns([grid for grid in _grids(facts) if grid.row_count], padding=(0, 3)))


def _grids(facts: dict[str, Any]) -> Iterator[Grid]:
    from cbnet.language.notation import format_name, format_tag

    constraints, filters, interfaces = facts["constraints"], facts["filters"], facts["interfaces"]
    yield _counts(facts)
    parts = [(row["part"], row["bytes"]) for row in facts["parts"]]
    yield bar_grid("Size by part", "part", "bytes", parts, facts["bytes"])
    tests = [(f"{row['type']} {row['operator']}", row["constraints"]) for row in facts["tests"]]
    yield bar_grid("Types and operators", "test", "constraints", tests, constraints)
    sizes = [(row["constraints"], row["filters"]) for row in facts["filter_sizes"]]
    yield bar_grid("Filter sizes", "constraints", "filters", _shortened(sizes), filters)
    names = [(format_name(row["name"]), row["constraints"]) for row in facts["top_names"]]
    yield bar_grid("Most frequent names", "name", "constraints", names, constraints)
    tags = [(format_tag(row["name"]), row["constraints"]) for row in facts["top_tags"]]
    yield bar_grid("Most frequent tags", "tag", "constraints", tags, constraints)
    determinants = [
        ((format_tag if row["is_tag"] else format_name)(row["name"]), row["interfaces"])
        for row in facts["determinants"]
    ]
    yield bar_grid("Selectivity table", "a message without", "excludes interfaces", determinants, interfaces)


def _counts(facts: dict[str, Any]) -> Grid:
    grid = new_grid("Totals", "", "")
    grid.show_header = False
    rows = {
        "interfaces": facts["interfaces"], "filters": facts["filters"],
        **{f"  {_FILTERS[key]}": count for key, count in {**facts["filter_kinds"], **facts["reduction"]}.items()},
        "constraints": facts["constraints"], "bytes": facts["bytes"], "  per constraint": facts["bytes_per_constraint"],
        **{f"distinct {what}": count for what, count in facts["distinct"].items()},
    }  # fmt: skip
    for what, count in rows.items():
        add_cells(grid, what, f"{count:,}")
    return grid


def _shortened(sizes: list[tuple[int, int]]) -> list[tuple[object, int]]:
    """Return the counts of the smallest sizes one by one, and the larger ones together."""
    if len(sizes) <= _MAX_SIZES:
        return [*sizes]
    rest = sizes[_MAX_SIZES - 1 :]
    return [*sizes[: _MAX_SIZES - 1], (f"{rest[0][0]} to {rest[-1][0]}", sum(count for _, count in rest))]
