"""`cbnet topology`: what does a graph look like?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import AsJson, counted, print_json
from cbnet.cli.grids import add_cells, bar_grid, new_grid
from cbnet.cli.seeds import seed_option

if TYPE_CHECKING:
    from rich.table import Table as Grid


def topology(
    graph: Annotated[
        str,
        typer.Argument(
            metavar="GRAPH", help="A generator, such as powerlaw:200, or a file of a graph.", show_default=False
        ),
    ],
    seed: Annotated[int, seed_option("Another seed makes another random graph.")] = 0,
    sources: Annotated[int, typer.Option("--sources", help="Nodes, drawn at random, to measure from.")] = 500,
    exact: Annotated[bool, typer.Option("--exact", help="Measure from all nodes.")] = False,
    largest: Annotated[
        bool, typer.Option("--largest", help="Take the largest component of a graph that is not connected.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Show how large a graph is, how its nodes are linked, and how far they are apart.

    Example: cbnet topology powerlaw:200
    """
    from cbnet.cli.progress import progress_bar
    from cbnet.topology import topology as named
    from cbnet.topology.survey.summary import summarise

    found = named(graph, seed, largest=largest, connected=False)
    with progress_bar() as bar:
        said = summarise(found, sources=None if exact else sources, seed=seed, track=bar.track)
    if json:
        print_json({"graph": graph, **said})
        return
    from rich.columns import Columns
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(graph)}[/]: {counted(said['nodes'], 'node')}, {counted(said['edges'], 'edge')}\n")
    console.print(Columns([grid for grid in _grids(said) if grid.row_count], padding=(0, 3)))


def _grids(said: dict[str, Any]) -> Iterator[Grid]:
    yield _counts(said)
    classes = (said["classes"] or {}).items()
    yield bar_grid("Classes of ASes", "class", "nodes", [*classes])
    degrees = [(_range(row), row["nodes"]) for row in said["degrees"]["counts"]]
    yield bar_grid("Degrees", "neighbours", "nodes", degrees)
    distances = [(_range(row), row["pairs"]) for row in said["distances"]["counts"]]
    where = "all nodes" if said["distances"]["exact"] else counted(said["distances"]["sources"], "node")
    yield bar_grid(f"Distances from {where}", "distance", "pairs", distances)
    yield _central(said)
    if said["components"]["count"] > 1:
        sizes = [(place, size) for place, size in enumerate(said["components"]["sizes"], 1)]
        yield bar_grid("Largest components", "component", "nodes", sizes, said["nodes"])


def _counts(said: dict[str, Any]) -> Grid:
    grid = new_grid("In all", "", "")
    grid.show_header = False
    degrees, distances, weights = said["degrees"], said["distances"], said["weights"] or {}
    rows = {
        "nodes": said["nodes"], "edges": said["edges"],
        **({"  said again, dropped": said["repeated"]} if said["repeated"] else {}),
        "  bridges": said["bridges"], "components": said["components"]["count"],
        **{f"{key} weight": value for key, value in weights.items()},
        **{f"{key} degree": degrees[key] for key in ("smallest", "median", "mean", "largest")},
        "mean distance": distances["mean"],
        "longest distance" if distances["exact"] else "longest distance seen": distances["longest"],
    }  # fmt: skip
    for what, count in rows.items():
        add_cells(grid, what, f"{count:,}".removesuffix(".0"))
    return grid


def _central(said: dict[str, Any]) -> Grid:
    """Return a table of the nodes that most shortest paths lead through."""
    classes = ["class"] if said["classes"] else []
    grid = new_grid("Most central", "node", "betweenness", "degree", *classes)
    for row in said["central"]:
        values = (f"{row['betweenness']:.1%}", f"{row['degree']:,}", *(row[key] for key in classes))
        add_cells(grid, row["node"], *values)
    return grid


def _range(row: dict[str, Any]) -> str:
    least, most = f"{row['from']:,}", f"{row['to']:,}"
    return least if least == most else f"{least} to {most}"
