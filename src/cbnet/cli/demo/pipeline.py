"""The demo's pipeline: the tables of a small Internet [2014 §4], built on Spark in under a minute.

The routers of the demo start from its output folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from cbnet.cli.console import StepReport
    from cbnet.pipeline.run.configuration import Config
    from cbnet.pipeline.run.runner import StageOutcome

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


def run_small_pipeline(folder: Path, report: StepReport = lambda _: None) -> list[StageOutcome]:
    """Run the pipeline for a small Internet in a folder, and return the outcomes of its stages."""
    from cbnet.pipeline.run.runner import run
    from cbnet.pipeline.spark.session import LazySession

    report("starting Spark")
    with LazySession("cbnet demo", master=_MASTER, conf=_SETTINGS, classic=True) as session:
        return [*run(_config(folder), session.start, lambda status: report(f"Spark: {status.name}"))]


def show_small_pipeline(outcomes: list[StageOutcome], console: Console) -> None:
    """Print Table 1 of the small Internet beside the paper's."""
    from cbnet.cli.pipeline.pipeline_output import show_table1

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
