"""`cbnet spark`: match batches and streams of any size on Spark, on this machine or on a cluster."""

from __future__ import annotations

import typer

from cbnet.cli.pipeline.spark_match import match
from cbnet.cli.pipeline.spark_stream import stream

spark = typer.Typer(help="Match batches and streams on Spark, here or on a cluster.", no_args_is_help=True)
spark.command()(match)
spark.command()(stream)
