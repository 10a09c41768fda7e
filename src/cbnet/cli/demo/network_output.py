"""Output of the demo's network: the path of one message, and the check of all deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.cli.console import new_grid, plural
from cbnet.network.protocol.fields import CAME_FROM_THERE

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.tree import Tree

    from cbnet.cli.demo.network import NetworkRun
    from cbnet.network.client.client_inbox import Traced
    from cbnet.network.protocol.frames import Hop

_MAX_NAMES = 3  # neighbours that are named


def show_small_network(run: NetworkRun, console: Console) -> None:
    """Print the network, the path of one message, and the comparison with brute force."""
    graph = run.plan.graph
    console.print(
        f"[bold]The same Internet, live[/]: {len(graph)} routers, each its own process, and {graph.edge_count} TCP"
        f" links, connected in {run.seconds:.1f} seconds. Each router starts with the rules of its node and announces"
        f" them to its neighbours: {run.filters:,} filters, of which a router holds between {min(run.held):,} and"
        f" {max(run.held):,}.\n"
    )
    show_trace(run, console)
    console.print(result_grid(run), "")
    if run.is_correct:
        console.print("[bold green]Every message reached exactly the nodes whose rules match it.[/]")
    else:
        console.print("[bold red]Some deliveries are wrong.[/]")
    console.print(
        "Run your own: [cyan]cbnet pipeline init[/], remove the # of \\[tables] and \\[live] in pipeline.toml,"
        " [cyan]cbnet pipeline run pipeline.toml[/], [cyan]cbnet up --fib run/live[/]\n"
    )


def show_trace(run: NetworkRun, console: Console) -> None:
    """Print the path of the traced message."""
    from rich.text import Text

    console.print("[bold]Path of one message[/]:", Text(str(run.traced), style="cyan"))
    console.print(trace_tree(run.trace), "")


def result_grid(run: NetworkRun) -> Grid:
    """Return the counts of messages and deliveries."""
    result = run.result
    outcomes = ("delivered", "missed", "spurious", "duplicates")
    routers = len({router for router, _ in run.published})
    rows = [
        ("published", f"{len(run.published):,}", f"messages, at {routers} routers"),
        ("expected", f"{result.expected:,}", f"by brute force over all {run.filters:,} filters"),
        *((name, f"{getattr(result, name):,}", "") for name in outcomes),
    ]
    grid = new_grid("Deliveries", "outcome", "count", "", rows=rows)
    grid.show_header = False
    grid.rows[2].style = "bold green" if result.is_exact else ""
    for row, name in zip(grid.rows[3:], outcomes[1:], strict=True):
        row.style = "bold red" if getattr(result, name) else "bold green"
    return grid


def trace_tree(traced: Traced) -> Tree:
    """Return the tree of routers that a message has passed."""
    from rich.tree import Tree

    first = traced.hops[0]
    tree = Tree(_label(first, "published at "))
    _grow(tree, first, traced)
    return tree


def _grow(tree: Tree, hop: Hop, traced: Traced) -> None:
    for branch in hop.branches:
        link = (hop.router, branch.neighbour)
        beyond = next((each for each in traced.hops if (each.came_from, each.router) == link), None)
        if branch.is_sent and beyond is not None:
            _grow(tree.add(_label(beyond)), beyond, traced)
    spared = [branch for branch in hop.branches if not branch.is_sent and branch.why != [CAME_FROM_THERE]]
    if spared:
        names = ", ".join(branch.neighbour for branch in spared[:_MAX_NAMES])
        more = f" and {len(spared) - _MAX_NAMES} more" if len(spared) > _MAX_NAMES else ""
        routers = plural(sum(branch.routers for branch in spared), "router")
        tree.add(f"[dim]not to {names}{more}: no rule of the {routers} there matches[/]")


def _label(hop: Hop, prefix: str = "") -> str:
    from rich.markup import escape

    filters = "; ".join(text.partition(": ")[2] for text in hop.delivered)
    return f"{prefix}router {hop.router}" + (f"  [green]matches {escape(filters)}[/]" if filters else "")
