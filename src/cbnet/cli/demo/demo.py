"""`cbnet demo`: a content-based network in one screen, then a small Internet on Spark and live."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import Json
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from rich.console import Console

    from cbnet.language import Message
    from cbnet.matching import Table

_MAX_WIDTH = 118
_GRID: dict[str, Any] = {
    "title_style": "bold",
    "title_justify": "left",
    "header_style": "bold",
    "expand": True,
}


def demo(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", "-q", help="Show only the first part; takes seconds, and starts neither Spark nor routers."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Show which receivers get which messages and why; then build a small Internet on Spark and run it live.

    The command fails if a delivery in the small Internet is missing, spurious or duplicated.
    """
    from cbnet.cli.demo.example_data import MESSAGES, RECEIVERS
    from cbnet.language import Message
    from cbnet.matching import Table

    table = Table.build(RECEIVERS)
    messages = [Message.from_dict(members) for members in MESSAGES]
    if json:
        for number, message in enumerate(messages, 1):
            print_json({"message": number, "content": message.to_dict(), "rules": table.match(message)})
    else:
        show(table, messages, _console())
    if not quick:
        _run_internet(json)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, width=min(Console().width, _MAX_WIDTH))


def _run_internet(as_json: bool) -> None:
    """Run the small pipeline and its network; without Spark, print a note."""
    from cbnet.cli.console import step_progress
    from cbnet.cli.demo.network import run_small_network
    from cbnet.cli.demo.network_output import show_small_network

    with TemporaryDirectory(prefix="cbnet-demo-") as name:
        folder = Path(name)
        try:
            from cbnet.cli.demo.pipeline import run_small_pipeline, show_small_pipeline
            from cbnet.cli.pipeline.pipeline_output import print_outcomes

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
    if not run.is_correct:
        raise CbnetError("some deliveries of the small Internet are wrong")


def show(table: Table[str], messages: list[Message], console: Console) -> None:
    """Print the first part."""
    console.print("\n[bold]cbnet[/]: receivers state rules, senders publish, and the content decides who receives.\n")
    show_receivers(table, messages, console)
    show_messages(table, messages, console)
    show_reasons(table, messages, console)
    deliveries = sum(len(table.match(message)) for message in messages)
    console.print(
        f"[bold]{len(messages)}[/] messages, [bold]{len(table)}[/] receivers, "
        f"[bold]{deliveries}[/] deliveries. "
        "Try your own: [cyan]cbnet check --help[/], [cyan]cbnet match --help[/]\n"
    )


def show_receivers(table: Table[str], messages: list[Message], console: Console) -> None:
    """Print the receivers and their predicates."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(title="Receivers", **_GRID)
    grid.add_column("receiver", style="cyan", no_wrap=True)
    grid.add_column("rule (predicate)", ratio=1)
    grid.add_column("received", justify="right")
    for receiver in table:
        received = sum(receiver in table.match(message) for message in messages)
        grid.add_row(str(receiver), Text(str(table[receiver])), str(received))
    console.print(grid, "")


def show_messages(table: Table[str], messages: list[Message], console: Console) -> None:
    """Print the messages and their receivers."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(title="Messages", **_GRID)
    grid.add_column("", justify="right", style="dim")
    grid.add_column("message", ratio=3)
    grid.add_column("receivers", ratio=2, style="cyan")
    for number, message in enumerate(messages, 1):
        receivers = ", ".join(map(str, table.match(message)))
        grid.add_row(str(number), Text(str(message)), receivers or Text("none", style="dim"))
    console.print(grid, "")


def show_reasons(table: Table[str], messages: list[Message], console: Console) -> None:
    """Explain some results."""
    from rich.padding import Padding
    from rich.text import Text

    from cbnet.cli.demo.example_data import EXPLAINED

    console.print("[bold]Explanations[/]")
    for number, receiver in EXPLAINED:
        explanation = table.explain(messages[number - 1], receiver)
        style = "green" if explanation.matched else "yellow"
        console.print(Padding(Text(f"message {number}, {explanation}", style=style), (0, 2)))
    console.print()
