"""`cbnet demo`: a content-based network in one screen, then a small Internet on Spark and live [2014 §4]."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import Json
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from rich.console import Console

    from cbnet.cli.console import StepReport
    from cbnet.pipeline.run.configuration import Config
    from cbnet.pipeline.run.runner import StageOutcome

_MAX_WIDTH = 118
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
    from cbnet.cli.demo.network_output import show_small_network

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
    if not run.is_correct:
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
