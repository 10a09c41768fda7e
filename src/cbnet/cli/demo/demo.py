"""`cbnet demo`: what does a content-based network do, seen in one screen or two?"""

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
        bool, typer.Option("--quick", help="Only the story, without Spark and routers: seconds, not a minute.")
    ] = False,
    json: Json = False,
) -> None:
    """Tell a small story: who asked for what, what was said, who received it and why. Then build and run an Internet.

    It fails if anybody in that small Internet misses a message, or gets one that they did not ask for.
    """
    from cbnet.cli.demo.story import MESSAGES, RECEIVERS
    from cbnet.language import Message
    from cbnet.matching import Table

    table = Table.build(RECEIVERS)
    messages = [Message.from_dict(members) for members in MESSAGES]
    if json:
        for number, message in enumerate(messages, 1):
            print_json({"message": number, "content": message.to_dict(), "interfaces": table.match(message)})
    else:
        show(table, messages, _console())
    if not quick:
        _tell_of_an_internet(json)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, width=min(Console().width, _MAX_WIDTH))


def _tell_of_an_internet(as_json: bool) -> None:
    """Run the small pipeline, and the network from it; where there is no Spark, say so in a line."""
    from cbnet.cli.console import step_progress
    from cbnet.cli.demo.network import run_small_network, show_small_network

    with TemporaryDirectory(prefix="cbnet-demo-") as name:
        folder = Path(name)
        try:
            from cbnet.cli.demo.pipeline import run_small_pipeline, show_small_pipeline
            from cbnet.cli.pipeline.pipeline_output import print_outcomes

            with step_progress() as report:
                outcomes = run_small_pipeline(folder, report)
        except CbnetError as error:
            print_note(f"The story's second part is left out: {error}")
            return
        if as_json:
            print_outcomes(outcomes)
        else:
            show_small_pipeline(outcomes, _console())
        with step_progress() as report:
            story = run_small_network(folder / "live", report)
    if as_json:
        print_json(story.members())
    else:
        show_small_network(story, _console())
    if not story.is_good:
        raise CbnetError("not every node got just what it asked for")


def show(table: Table[str], messages: list[Message], console: Console) -> None:
    """Tell the whole story."""
    console.print("\n[bold]cbnet[/]: nobody is addressed. Receivers say what they want, senders only publish.\n")
    show_receivers(table, messages, console)
    show_messages(table, messages, console)
    show_reasons(table, messages, console)
    deliveries = sum(len(table.match(message)) for message in messages)
    console.print(
        f"[bold]{len(messages)}[/] messages, [bold]{len(table)}[/] receivers, "
        f"[bold]{deliveries}[/] deliveries. "
        "Ask your own: [cyan]cbnet check --help[/], [cyan]cbnet match --help[/]\n"
    )


def show_receivers(table: Table[str], messages: list[Message], console: Console) -> None:
    """Draw who wants what."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(title="Who wants what", **_GRID)
    grid.add_column("receiver", style="cyan", no_wrap=True)
    grid.add_column("predicate, its content-based address", ratio=1)
    grid.add_column("received", justify="right")
    for receiver in table:
        received = sum(receiver in table.match(message) for message in messages)
        grid.add_row(str(receiver), Text(str(table[receiver])), str(received))
    console.print(grid, "")


def show_messages(table: Table[str], messages: list[Message], console: Console) -> None:
    """Draw who received what."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(title="Who received what", **_GRID)
    grid.add_column("", justify="right", style="dim")
    grid.add_column("message", ratio=3)
    grid.add_column("went to", ratio=2, style="cyan")
    for number, message in enumerate(messages, 1):
        receivers = ", ".join(map(str, table.match(message)))
        grid.add_row(str(number), Text(str(message)), receivers or Text("nobody", style="dim"))
    console.print(grid, "")


def show_reasons(table: Table[str], messages: list[Message], console: Console) -> None:
    """Say why, for the questions of the story."""
    from rich.padding import Padding
    from rich.text import Text

    from cbnet.cli.demo.story import QUESTIONS

    console.print("[bold]Why?[/]")
    for number, receiver in QUESTIONS:
        explanation = table.explain(messages[number - 1], receiver)
        style = "green" if explanation.matched else "yellow"
        console.print(Padding(Text(f"message {number}, {explanation}", style=style), (0, 2)))
    console.print()
