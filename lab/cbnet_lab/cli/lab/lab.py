"""`cbnet lab`: simulations, surveys of graphs, and the experiments of the papers."""

from __future__ import annotations

from cbnet.cli.command_help import command_group
from cbnet_lab.cli.lab.fib import fib
from cbnet_lab.cli.lab.report import report
from cbnet_lab.cli.lab.reproduce import reproduce
from cbnet_lab.cli.lab.simulate import simulate
from cbnet_lab.cli.lab.trees import trees
from cbnet_lab.cli.lab.webhooks import webhooks

lab = command_group(
    "Simulate routing, survey graphs, and reproduce the experiments of the papers.",
    trees=trees,
    fib=fib,
    simulate=simulate,
    reproduce=reproduce,
    report=report,
    webhooks=webhooks,
)
