"""Output of pipeline results beyond Table 1: folded tables, and the cost of several trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import add_cells, new_grid

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.pipeline.run.runner import StageOutcome
    from cbnet.pipeline.spark.results import StoredResult


def extra_grids(outcomes: Sequence[StageOutcome]) -> Iterator[Grid]:
    """Yield a table for each kind of additional result of a run."""
    folded = [each.result.facts for each in outcomes if each.name.startswith("folded/")]
    if folded:
        yield _folded(folded)
    stored = {each.name: each.result for each in outcomes if each.name.startswith("router_tables/")}
    if stored:
        yield _router_tables(stored)
    for each in outcomes:
        if each.name == "curves":
            yield _curves(each.result.facts["findings"])


def _folded(stages: Sequence[Mapping[str, Any]]) -> Grid:
    grid = new_grid("Tables folded over k trees", "k", "router", "entries", "of one tree's", "bytes at 50 each")
    alone = {row["router"]: row["entries"] for facts in stages if facts["k"] == 1 for row in facts["rows"]}
    for facts in sorted(stages, key=lambda facts: facts["k"]):
        for row in facts["rows"]:
            single = alone.get(row["router"])
            times = f"{row['entries'] / single:.2f} ×" if single else ""
            add_cells(grid, facts["k"], row["router"], f"{row['entries']:,}", times, f"{row['bytes']:,}")
    return grid


def _router_tables(stored: Mapping[str, StoredResult]) -> Grid:
    marks = stored["router_tables/marks"]
    grid = new_grid("Tables of every router", "routers", "trees", "descriptors", "entries", "stored rows", "bytes")
    add_cells(
        grid, f"{marks.facts['routers']:,}", len(marks.facts["entries"]),
        f"{stored['router_tables/descriptors'].rows:,}", f"{sum(marks.facts['entries']):,}", f"{marks.rows:,}",
        f"{sum(each.bytes for each in stored.values()):,}",
    )  # fmt: skip
    return grid


def _curves(findings: Sequence[Mapping[str, Any]]) -> Grid:
    """Return Figures 4 and 5 in numbers: the 1st to 99th percentiles of each source's mean over all nodes."""
    heads = ["\nties", "\nk", "extra hops\nmean", "\np1…p99", "worst tree\nmean", "\np1…p99"]
    grid = new_grid("Paths on k trees", *heads, "trees per interface\np99", "\nlargest", tight=True)
    for finding in findings:
        mean, worst = finding["extra_mean"]["sources"], finding["extra_worst"]["sources"]
        interfaces = finding["interfaces"]
        add_cells(
            grid, finding["ties"], finding["k"], f"{mean['mean']:.2f}", _band(mean), f"{worst['mean']:.2f}",
            _band(worst), f"{interfaces['p99']:g}", max(interfaces["largest"]),
        )  # fmt: skip
    add_cells(grid, "[2014]", "8", "", "1…2", "", "2.5…5.5", "", "")
    add_cells(grid, "[2014]", "128", "", "", "", "", "", "90")
    return grid


def _band(percentiles: Mapping[str, float]) -> str:
    return f"{percentiles['p1']:.1f}…{percentiles['p99']:.1f}"
