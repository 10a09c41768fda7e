"""`cbnet lab`: simulations, surveys of graphs, and the experiments of the papers."""

from __future__ import annotations

import typer

from cbnet.cli.command_help import CommandHelp, GroupHelp
from cbnet_lab.cli.lab.alpha import alpha
from cbnet_lab.cli.lab.fib import fib
from cbnet_lab.cli.lab.report import report
from cbnet_lab.cli.lab.reproduce import reproduce
from cbnet_lab.cli.lab.simulate import simulate
from cbnet_lab.cli.lab.topology import topology
from cbnet_lab.cli.lab.trees import trees
from cbnet_lab.cli.lab.webhooks import webhooks

lab = typer.Typer(
    help="Simulate routing, survey graphs, and reproduce the experiments of the papers.",
    cls=GroupHelp,
    no_args_is_help=True,
)
for command in (topology, trees, fib, alpha, simulate, reproduce, report, webhooks):
    lab.command(cls=CommandHelp)(command)
