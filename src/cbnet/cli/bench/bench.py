"""`cbnet bench`: how fast is it here, compared in one run and with the answers checked?"""

from __future__ import annotations

import typer

from cbnet.cli.bench.forwarding import forwarding
from cbnet.cli.bench.minimal import minimal
from cbnet.cli.bench.month import month
from cbnet.cli.bench.network import network
from cbnet.cli.bench.spark import spark
from cbnet.cli.bench.tags import tags
from cbnet.cli.bench.updates import updates

bench = typer.Typer(help="Measure cbnet on this machine, with the answers checked.", no_args_is_help=True)
bench.command()(forwarding)
bench.command()(updates)
bench.command()(tags)
bench.command()(minimal)
bench.command()(network)
bench.command()(month)
bench.command()(spark)
