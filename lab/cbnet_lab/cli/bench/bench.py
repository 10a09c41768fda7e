"""`cbnet bench`: benchmarks that compare alternatives in one run and check the answers."""

from __future__ import annotations

import typer

from cbnet.cli.command_help import CommandHelp, GroupHelp
from cbnet_lab.cli.bench.announcements import announcements
from cbnet_lab.cli.bench.churn import churn
from cbnet_lab.cli.bench.clients import clients
from cbnet_lab.cli.bench.door import door
from cbnet_lab.cli.bench.durable import durable
from cbnet_lab.cli.bench.events import events
from cbnet_lab.cli.bench.files import files
from cbnet_lab.cli.bench.forwarding import forwarding
from cbnet_lab.cli.bench.histories import histories
from cbnet_lab.cli.bench.minimal import minimal
from cbnet_lab.cli.bench.month import month
from cbnet_lab.cli.bench.network import network
from cbnet_lab.cli.bench.router import router
from cbnet_lab.cli.bench.schedules import schedules
from cbnet_lab.cli.bench.spark import spark
from cbnet_lab.cli.bench.tags import tags
from cbnet_lab.cli.bench.updates import updates

bench = typer.Typer(
    help="Measure performance on this machine; every benchmark checks its answers.", cls=GroupHelp, no_args_is_help=True
)
for command in (
    forwarding,
    files,
    events,
    updates,
    tags,
    minimal,
    network,
    router,
    door,
    durable,
    clients,
    churn,
    announcements,
    month,
    schedules,
    histories,
    spark,
):
    bench.command(cls=CommandHelp)(command)
