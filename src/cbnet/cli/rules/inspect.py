"""`cbnet inspect`: facts of a compiled table, or of rules as if compiled."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import add_cells, bar_grid, new_grid, print_json, quote_rule, results_console
from cbnet.cli.options import DIALECT, JSON, argument

if TYPE_CHECKING:
    from rich.table import Table as Grid

_MAX_SIZES = 12  # rows of filter sizes
_MAX_RULES = 20
_FILTERS = {
    "always": "empty: always match", "single": "with one constraint", "other": "with more",
    "covered": "covered by others", "repeated": "repeated", "matched_against": "matched against",
}  # fmt: skip


def inspect(
    table: Path = argument(..., "TABLE", "Compiled table (.cbt), or a rule file."),
    dialect: str = DIALECT,
    json: bool = JSON,
) -> None:
    """Verify a compiled table, and show its contents and the size of its parts.

    Example: cbnet inspect table.cbt
    """
    facts = _facts(table, dialect)
    if json:
        print_json(facts)
        return
    from rich.columns import Columns
    from rich.markup import escape

    console = results_console()
    console.print(f"[bold]{escape(str(table))}[/]: engine {facts['engine']}, version {facts['version']}\n")
    console.print(Columns([grid for grid in _grids(facts) if grid.row_count], padding=(0, 3)))


def _facts(table: Path, dialect: str) -> dict[str, Any]:
    """Return the statistics of a file; the size of a rule file is that of its compiled table."""
    from cbnet.matching.files.rule_files import is_compiled, open_rule_file
    from cbnet.matching.statistics import table_statistics

    compiled = open_rule_file(table, verify=True, dialect=dialect).compiled
    if is_compiled(table):
        return table_statistics(compiled, table.stat().st_size)
    with TemporaryDirectory() as folder:
        return table_statistics(compiled, compiled.save(Path(folder, "table.cbt")))


def _grids(facts: dict[str, Any]) -> Iterator[Grid]:
    from cbnet.language.values import format_name, format_tag

    constraints, filters, rules = facts["constraints"], facts["filters"], facts["rules"]
    yield _counts(facts)
    parts = [(row["part"], row["bytes"]) for row in facts["parts"]]
    yield bar_grid("Size by part", "part", "bytes", parts, facts["bytes"])
    indexes = [(row["index"], row["filters"]) for row in facts["indexes"]]
    yield bar_grid("Filters by index", "index", "filters", indexes, facts["reduction"]["matched_against"])
    tests = [(f"{row['type']} {row['operator']}", row["constraints"]) for row in facts["tests"]]
    yield bar_grid("Types and operators", "test", "constraints", tests, constraints)
    sizes = [(row["constraints"], row["filters"]) for row in facts["filter_sizes"]]
    yield bar_grid("Filter sizes", "constraints", "filters", _shortened(sizes), filters)
    names = [(format_name(row["name"]), row["constraints"]) for row in facts["top_names"]]
    yield bar_grid("Most frequent names", "name", "constraints", names, constraints)
    tags = [(format_tag(row["name"]), row["constraints"]) for row in facts["top_tags"]]
    yield bar_grid("Most frequent tags", "tag", "constraints", tags, constraints)
    determinants = [
        ((format_tag if row["is_tag"] else format_name)(row["name"]), row["rules"]) for row in facts["determinants"]
    ]
    yield bar_grid("Selectivity table", "a message without", "excludes rules", determinants, rules)
    yield _rules(facts["rule_details"])


def _rules(rules: list[dict[str, Any]]) -> Grid:
    """Return the rules of the highest priorities, with their metadata."""
    grid = new_grid("Rules", "name", "priority", "metadata", text=("metadata",))
    for rule in rules[:_MAX_RULES]:
        metadata = json_text.dumps(rule["metadata"], ensure_ascii=False) if rule["metadata"] else ""
        add_cells(grid, quote_rule(rule["name"]), f"{rule['priority']:,}", metadata)
    if len(rules) > _MAX_RULES:
        add_cells(grid, f"{len(rules) - _MAX_RULES:,} more", "", "")
    return grid


def _counts(facts: dict[str, Any]) -> Grid:
    rows = {
        "rules": facts["rules"], "filters": facts["filters"],
        **{f"  {_FILTERS[key]}": count for key, count in {**facts["filter_kinds"], **facts["reduction"]}.items()},
        "constraints": facts["constraints"], "bytes": facts["bytes"], "  per constraint": facts["bytes_per_constraint"],
        **{f"distinct {what}": count for what, count in facts["distinct"].items()},
    }  # fmt: skip
    grid = new_grid("Totals", "", "", rows=[(what, f"{count:,}") for what, count in rows.items()])
    grid.show_header = False
    return grid


def _shortened(sizes: list[tuple[int, int]]) -> list[tuple[object, int]]:
    """Return the counts of the smallest sizes one by one, and the larger ones together."""
    if len(sizes) <= _MAX_SIZES:
        return [*sizes]
    rest = sizes[_MAX_SIZES - 1 :]
    return [*sizes[: _MAX_SIZES - 1], (f"{rest[0][0]} to {rest[-1][0]}", sum(count for _, count in rest))]
