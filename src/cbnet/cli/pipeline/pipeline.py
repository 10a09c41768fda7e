"""`cbnet pipeline`: build the forwarding tables of a network from traces, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cbnet.cli.command_help import CommandHelp, GroupHelp
from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import Json, output_option
from cbnet.cli.pipeline.spark_options import Conf, Master, Remote, settings
from cbnet.errors import InputError
from cbnet.files import unwritable

pipeline = typer.Typer(
    help="Build the forwarding tables of a network from traces, on Spark.",
    cls=GroupHelp,
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="Pipeline configuration.", show_default=False)]
Output = Annotated[str | None, output_option("Folder for the results, instead of the configuration's.")]


@pipeline.command(cls=CommandHelp)
def run(
    config: File,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Run the stages that are not done yet, and compare Table 1 with the paper's.

    Example: cbnet pipeline run pipeline.toml --master local[2] --conf spark.driver.memory=4g
    """
    from cbnet.cli.pipeline.pipeline_output import print_outcomes, show_outcomes
    from cbnet.cli.pipeline.run_page import write_page
    from cbnet.pipeline.run.configuration import read_config
    from cbnet.pipeline.run.runner import run as run_stages
    from cbnet.pipeline.spark.session import LazySession

    plan = read_config(config, out=output)
    session = LazySession("cbnet pipeline", master=master, remote=remote, conf=settings(conf), classic=True)
    with session:
        outcomes = [*run_stages(plan, session.start, lambda status: print_note(f"{status.name} …"))]
        page = write_page(session.start, plan.out, [outcome.result for outcome in outcomes])
    if json:
        print_outcomes(outcomes)
    else:
        show_outcomes(plan.out, outcomes)
    print_note(f"page: {page}" if page else "pip install 'cbnet[lab]' adds a page with charts")


@pipeline.command(cls=CommandHelp)
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")] = Path("pipeline.toml"),
) -> None:
    """Write a commented configuration that runs as it is."""
    from cbnet.pipeline.run.template import TEMPLATE

    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(TEMPLATE)
    except FileExistsError:
        raise InputError("the file exists already", hint="give another name", file=str(file)) from None
    except OSError as error:
        raise unwritable(file, error) from None
    print_note(f"{file}: run it with `cbnet pipeline run {file}`")


@pipeline.command(cls=CommandHelp)
def status(
    config: File,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    output: Output = None,
    json: Json = False,
) -> None:
    """Show the state of each stage: done, stale (parameters or inputs changed), damaged (files are lost) or missing."""
    from cbnet.cli.pipeline.pipeline_output import show_states, state_members
    from cbnet.pipeline.run.configuration import read_config
    from cbnet.pipeline.run.plan import needs_spark, states
    from cbnet.pipeline.spark.session import LazySession

    plan = read_config(config, out=output)
    session = LazySession("cbnet pipeline", master=master, remote=remote, conf=settings(conf), classic=True)
    with session:
        rows = [*states(plan, session.start() if needs_spark(plan) else None)]
    if json:
        for each in rows:
            print_json(state_members(each))
    else:
        show_states(plan.out, rows)
