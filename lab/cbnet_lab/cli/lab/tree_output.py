"""Output of `cbnet lab trees`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import add_cells, new_grid, plural, results_console

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.topology import Graph
    from cbnet.topology.survey.claims import TreeClaim

_PERCENTS = {"p1": "1 %", "p25": "25 %", "p50": "50 %", "p75": "75 %", "p99": "99 %"}


def show_trees(topology: str, graph: Graph, rows: Sequence[dict[str, Any]], claims: Sequence[TreeClaim]) -> None:
    """Print the findings in four tables, then the paper's claims beside them."""
    from rich.markup import escape

    console = results_console()
    selections, sources = rows[0]["selections"], rows[0]["sources"] // rows[0]["selections"]
    console.print(
        f"[bold]{escape(topology)}[/]: {plural(len(graph), 'node')}, {plural(graph.edge_count, 'link')};"
        f" {plural(selections, 'selection')} of roots, {plural(sources, 'source')} each\n",
        soft_wrap=True,
    )
    extra = "Extra hops" if graph.is_unit else "Extra length"
    console.print(_lengths(f"{extra} over the graph's shortest path, mean of the trees", "extra_mean", rows))
    console.print(_lengths(f"{extra} over the graph's shortest path, worst tree", "extra_worst", rows))
    console.print(_interfaces(rows))
    console.print(_links(rows))
    console.print("[bold]Claims of [2014] and results here[/]\n")
    for line in _lines(claims):
        console.print(line, soft_wrap=True)


def _lengths(title: str, key: str, rows: Sequence[dict[str, Any]]) -> Grid:
    grid = new_grid(title, "ties", "trees", "of", "mean", *_PERCENTS.values())
    for row in rows:
        for what in ("pairs", "sources"):
            shares = row[key][what]
            add_cells(grid, row["ties"], row["k"], what, *(f"{shares[name]:.2f}" for name in ("mean", *_PERCENTS)))
    return grid


def _interfaces(rows: Sequence[dict[str, Any]]) -> Grid:
    heads = ("trees", "in use", "mean", *_PERCENTS.values(), "largest")
    grid = new_grid("Distinct trees per interface", "ties", *heads)
    for row in rows:
        shares = row["interfaces"]
        least, most = shares["largest"]
        add_cells(
            grid,
            row["ties"],
            row["k"],
            f"{shares['used']:,.0f}",
            f"{shares['mean']:.2f}",
            *(f"{shares[name]:.0f}" for name in _PERCENTS),
            str(least) if least == most else f"{least} to {most}",
        )
    return grid


def _links(rows: Sequence[dict[str, Any]]) -> Grid:
    grid = new_grid("Link load, in pairs of nodes", "ties", "trees", "links used", "of all", "mean", "largest")
    for row in rows:
        load = row["load"]
        used = (f"{load['used']:,.0f}", f"{load['used'] / load['links']:.1%}")
        add_cells(grid, row["ties"], row["k"], *used, f"{load['mean']:.4%}", f"{load['largest']:.2%}")
    return grid


def _lines(claims: Sequence[TreeClaim]) -> Iterator[str]:
    """Yield each claim once, with the result for each tie-breaking rule."""
    verdicts = {True: "  [green]agrees[/]", False: "  [red]does not agree[/]", None: ""}
    for key in dict.fromkeys((claim.source, claim.statement) for claim in claims):
        yield f"{key[0]}: {key[1]}"
        for claim in claims:
            if (claim.source, claim.statement) == key:
                yield f"  [cyan]{claim.ties:8}[/]  {claim.result}{verdicts[claim.agrees]}"
