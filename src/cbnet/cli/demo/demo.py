"""`cbnet demo`: a content-based network in one screen, then a small Internet on Spark and live [2014 §4]."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cbnet.cli.console import new_grid, plural, print_json, print_note
from cbnet.cli.options import JSON, flag
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.tree import Tree

    from cbnet.cli.console import StepReport
    from cbnet.cli.demo.network import NetworkRun
    from cbnet.network.client.client_inbox import Traced
    from cbnet.network.protocol.frames import Hop
    from cbnet.pipeline.run.configuration import Config
    from cbnet.pipeline.run.runner import StageOutcome

_MAX_WIDTH = 118
_MAX_NAMES = 3  # neighbours that are named
_GRAPH = "aslike:60"
_CLUSTERS = 300  # of 1000 users
_TABLES = 60  # of all routers
_MASTER = "local[*]"  # the folder is on this machine
# For a short run on one machine: no web interface, few partitions, and only Java's fast compiler.
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


def demo(
    quick: bool = flag(
        "Show only the first part; takes seconds, and starts neither Spark nor routers.", name="--quick -q"
    ),
    json: bool = JSON,
) -> None:
    """Show which receivers get which messages and why; then build a small Internet on Spark and run it live.

    The command fails if a delivery in the small Internet is missing, spurious or duplicated.
    """
    from cbnet.cli.demo.example import MESSAGES, RECEIVERS, show_example
    from cbnet.language import Message
    from cbnet.matching import Table

    table = Table.build(RECEIVERS)
    messages = [Message.from_dict(members) for members in MESSAGES]
    if json:
        for number, message in enumerate(messages, 1):
            print_json({"message": number, "content": message.to_dict(), "rules": table.match(message)})
    else:
        show_example(table, messages, _console())
    if not quick:
        _run_internet(json)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, width=min(Console().width, _MAX_WIDTH))


def _run_internet(as_json: bool) -> None:
    """Run the small pipeline and its network; without Spark, print a note."""
    from cbnet.cli.console import step_progress
    from cbnet.cli.demo.network import run_small_network

    with TemporaryDirectory(prefix="cbnet-demo-") as name:
        folder = Path(name)
        try:
            from cbnet.cli.pipeline.run_output import print_outcomes

            with step_progress(in_lines=True) as report:
                outcomes = run_small_pipeline(folder, report)
        except CbnetError as error:
            print_note(f"the second part was skipped: {error}")
            return
        if as_json:
            print_outcomes(outcomes)
        else:
            show_small_pipeline(outcomes, _console())
        with step_progress(in_lines=True) as report:
            run = run_small_network(folder / "live", report)
    if as_json:
        print_json(run.members())
    else:
        show_small_network(run, _console())
    if not run.result.is_exact:
        raise CbnetError("some deliveries of the small Internet are wrong")


def run_small_pipeline(folder: Path, report: StepReport = lambda _: None) -> list[StageOutcome]:
    """Run the pipeline for a small Internet in a folder, and return the outcomes of its stages."""
    from cbnet.pipeline.run.runner import run
    from cbnet.pipeline.spark.session import LazySession

    report("starting Spark")
    with LazySession("cbnet demo", master=_MASTER, conf=_SETTINGS, classic=True) as session:
        return [*run(_config(folder), session.start, lambda status: report(f"Spark: {status.name}"))]


def show_small_pipeline(outcomes: list[StageOutcome], console: Console) -> None:
    """Print Table 1 of the small Internet beside the paper's."""
    from cbnet.cli.pipeline.run_output import show_table1

    seconds = sum(each.result.seconds for each in outcomes)
    console.print(
        f"[bold]A small Internet[/]: {_GRAPH}, {_CLUSTERS * 1000:,} users with synthetic interests, built on Spark in"
        f" {seconds:.0f} seconds.\nEvery node has the rules of its users. The table of the most central router:\n"
    )
    show_table1(outcomes, console, limit=1)


def _config(folder: Path) -> Config:
    from cbnet.pipeline.run.configuration import (
        Config,
        LiveConfig,
        NetworkConfig,
        PopulationConfig,
        TablesConfig,
        paper_applications,
    )

    return Config(
        out=str(folder),
        network=NetworkConfig(graph=_GRAPH, routers=_TABLES),
        population=PopulationConfig(clusters=_CLUSTERS),
        applications=paper_applications(),
        tables=TablesConfig(),
        live=LiveConfig(),
    )


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
    if run.result.is_exact:
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
    from cbnet.network.protocol.fields import CAME_FROM_THERE

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
