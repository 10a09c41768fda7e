"""`cbnet bench`: benchmarks that compare alternatives in one run and check the answers."""

from __future__ import annotations

import typer

from cbnet.cli.bench.announcements import announcements
from cbnet.cli.bench.churn import churn
from cbnet.cli.bench.clients import clients
from cbnet.cli.bench.door import door
from cbnet.cli.bench.durable import durable
from cbnet.cli.bench.events import events
from cbnet.cli.bench.files import files
from cbnet.cli.bench.forwarding import forwarding
from cbnet.cli.bench.histories import histories
from cbnet.cli.bench.minimal import minimal
from cbnet.cli.bench.month import month
from cbnet.cli.bench.network import network
from cbnet.cli.bench.router import router
from cbnet.cli.bench.schedules import schedules
from cbnet.cli.bench.spark import spark
from cbnet.cli.bench.tags import tags
from cbnet.cli.bench.updates import updates
from cbnet.cli.command_help import CommandHelp, GroupHelp

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
