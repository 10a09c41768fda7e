"""`cbnet spark`: match batches and streams on Spark, on this machine or on a cluster."""

from __future__ import annotations

import typer

from cbnet.cli.command_help import CommandHelp, GroupHelp
from cbnet.cli.pipeline.spark_match import match
from cbnet.cli.pipeline.spark_stream import stream

spark = typer.Typer(
    help="Match batches and streams of messages on Spark, here or on a cluster.", cls=GroupHelp, no_args_is_help=True
)
for command in (match, stream):
    spark.command(cls=CommandHelp)(command)
