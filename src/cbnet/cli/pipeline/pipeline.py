"""`cbnet pipeline`: how do raw traces become the forwarding tables of a network, on Spark?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cbnet.cli.console import AsJson, print_json, print_remark
from cbnet.errors import InputError
from cbnet.files import unwritable

pipeline = typer.Typer(
    help="From raw traces to the forwarding tables of a network, on Spark.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Master = Annotated[
    str | None, typer.Option("--master", help="Where Spark runs: local[*], spark://host:7077, yarn, k8s://…")
]
Settings = Annotated[
    list[str] | None, typer.Option("--conf", help="A setting of Spark, key=value; repeat it for more.")
]
File = Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="What to run.", show_default=False)]
Out = Annotated[str | None, typer.Option("--out", help="The folder of the results, instead of the file's.")]


@pipeline.command()
def run(config: File, master: Master = None, conf: Settings = None, out: Out = None, json: AsJson = False) -> None:
    """Run what is not done yet, and show Table 1 beside the paper's.

    Example: cbnet pipeline run pipeline.toml --master local[2] --conf spark.driver.memory=4g
    """
    from cbnet.cli.pipeline.pipeline_output import print_outcomes, show_outcomes
    from cbnet.pipeline.run.configuration import read_config
    from cbnet.pipeline.run.runner import run as run_stages
    from cbnet.pipeline.spark.session import LazySession

    said = read_config(config, out=out)
    with LazySession("cbnet pipeline", master=master, conf=_settings(conf or [])) as session:
        outcomes = [*run_stages(said, session.start, lambda name: print_remark(f"{name} …"))]
    if json:
        print_outcomes(outcomes)
    else:
        show_outcomes(said.out, outcomes)


@pipeline.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path("pipeline.toml"),
) -> None:
    """Write a configuration with comments, which runs as it is."""
    from cbnet.pipeline.run.template import TEMPLATE

    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(TEMPLATE)
    except FileExistsError:
        raise InputError("there is such a file already", hint="give another name", file=str(file)) from None
    except OSError as error:
        raise unwritable(file, error) from None
    print_remark(f"{file}: run it with `cbnet pipeline run {file}`")


@pipeline.command()
def status(config: File, master: Master = None, conf: Settings = None, out: Out = None, json: AsJson = False) -> None:
    """Show for each stage whether its result is there: done, stale (of other parameters or inputs) or missing."""
    from cbnet.cli.pipeline.pipeline_output import show_states, state_members
    from cbnet.pipeline.run.configuration import read_config
    from cbnet.pipeline.run.runner import needs_spark, states
    from cbnet.pipeline.spark.session import LazySession

    said = read_config(config, out=out)
    with LazySession("cbnet pipeline", master=master, conf=_settings(conf or [])) as session:
        found = [*states(said, session.start() if needs_spark(said) else None)]
    if json:
        for each in found:
            print_json(state_members(*each))
    else:
        show_states(said.out, found)


def _settings(said: list[str]) -> dict[str, str]:
    """Return the settings of Spark that options say."""
    pairs = [each.partition("=") for each in said]
    for key, equals, _ in pairs:
        if not equals or not key.startswith("spark."):
            raise InputError(f"--conf {key!r} is no setting", hint="write --conf spark.driver.memory=4g")
    return {key: value for key, _, value in pairs}
