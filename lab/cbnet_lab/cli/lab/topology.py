"""`cbnet lab topology`: properties of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import add_cells, bar_grid, new_grid, plural, print_json, results_console
from cbnet.cli.options import GRAPH
from cbnet_lab.bench.plan_options import option, seed
from cbnet_lab.cli.bench.plan_command import plan_function

if TYPE_CHECKING:
    from rich.table import Table as Grid


@dataclass(frozen=True)
class TopologyPlan:
    """Show the size, degrees, distances and central nodes of a graph.

    Example: cbnet lab topology powerlaw:200
    """

    graph: str = option(..., "GRAPH", GRAPH, name="", shown=False)
    seed: int = seed("Seed of a random graph.")
    sources: int = option(500, "N", "Number of random nodes to measure from.")
    exact: bool = option(False, "", "Measure from all nodes.", name="--exact")
    largest: bool = option(False, "", "Use the largest component of a disconnected graph.", name="--largest")


def _summarise(plan: TopologyPlan, as_json: bool) -> None:
    from cbnet.cli.console import progress_bar
    from cbnet.topology import topology as load_graph
    from cbnet.topology.survey.summary import summarise

    loaded = load_graph(plan.graph, plan.seed, largest=plan.largest, connected=False)
    with progress_bar() as bar:
        summary = summarise(loaded, sources=None if plan.exact else plan.sources, seed=plan.seed, track=bar.track)
    if as_json:
        print_json({"graph": plan.graph, **summary})
        return
    from rich.columns import Columns
    from rich.markup import escape

    console = results_console()
    console.print(
        f"[bold]{escape(plan.graph)}[/]: {plural(summary['nodes'], 'node')}, {plural(summary['edges'], 'edge')}\n"
    )
    console.print(Columns([grid for grid in _grids(summary) if grid.row_count], padding=(0, 3)))


topology = plan_function("topology", TopologyPlan, _summarise)


def _grids(summary: dict[str, Any]) -> Iterator[Grid]:
    yield _counts(summary)
    classes = (summary["classes"] or {}).items()
    yield bar_grid("AS classes", "class", "nodes", [*classes])
    degrees = [(_range(row), row["nodes"]) for row in summary["degrees"]["counts"]]
    yield bar_grid("Degrees", "neighbours", "nodes", degrees)
    distances = [(_range(row), row["pairs"]) for row in summary["distances"]["counts"]]
    origin = "all nodes" if summary["distances"]["exact"] else plural(summary["distances"]["sources"], "node")
    yield bar_grid(f"Distances from {origin}", "distance", "pairs", distances)
    yield _central(summary)
    if summary["components"]["count"] > 1:
        sizes = [(rank, size) for rank, size in enumerate(summary["components"]["sizes"], 1)]
        yield bar_grid("Largest components", "component", "nodes", sizes, summary["nodes"])


def _counts(summary: dict[str, Any]) -> Grid:
    grid = new_grid("Totals", "", "")
    grid.show_header = False
    degrees, distances, weights = summary["degrees"], summary["distances"], summary["weights"] or {}
    rows = {
        "nodes": summary["nodes"], "edges": summary["edges"],
        **({"  repeated, dropped": summary["repeated"]} if summary["repeated"] else {}),
        "  bridges": summary["bridges"], "components": summary["components"]["count"],
        **{f"{key} weight": value for key, value in weights.items()},
        **{f"{key} degree": degrees[key] for key in ("smallest", "median", "mean", "largest")},
        "mean distance": distances["mean"],
        "longest distance" if distances["exact"] else "longest distance seen": distances["longest"],
    }  # fmt: skip
    for what, count in rows.items():
        add_cells(grid, what, f"{count:,}".removesuffix(".0"))
    return grid


def _central(summary: dict[str, Any]) -> Grid:
    """Return a table of the nodes with the most shortest paths through them."""
    classes = ["class"] if summary["classes"] else []
    grid = new_grid("Most central", "node", "betweenness", "degree", *classes)
    for row in summary["central"]:
        values = (f"{row['betweenness']:.1%}", f"{row['degree']:,}", *(row[key] for key in classes))
        add_cells(grid, row["node"], *values)
    return grid


def _range(row: dict[str, Any]) -> str:
    least, most = f"{row['from']:,}", f"{row['to']:,}"
    return least if least == most else f"{least} to {most}"
