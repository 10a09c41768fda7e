"""`cbnet bench`: benchmarks that compare alternatives in one run and check the answers."""

from __future__ import annotations

import typer

from cbnet.cli.command_help import CommandHelp, GroupHelp
from cbnet_lab.bench import plans
from cbnet_lab.cli.bench.churn import churn
from cbnet_lab.cli.bench.door import door
from cbnet_lab.cli.bench.histories import histories
from cbnet_lab.cli.bench.month import month
from cbnet_lab.cli.bench.plan_command import plan_command
from cbnet_lab.cli.bench.schedules import schedules

_BENCH = "cbnet_lab.bench"


def _network_module(plan: plans.NetworkBenchPlan) -> str:
    if plan.fail is not None:
        return "cbnet_lab.faults.failure_report"
    return f"{_BENCH}.network.{'broker_comparison' if plan.broker else 'throughput'}"


bench = typer.Typer(
    help="Measure performance on this machine; every benchmark checks its answers.", cls=GroupHelp, no_args_is_help=True
)
for command in (
    plan_command("forwarding", plans.ForwardingPlan, f"{_BENCH}.matching.forwarding"),
    plan_command("files", plans.FilesPlan, f"{_BENCH}.matching.files"),
    plan_command("events", plans.EventsPlan, f"{_BENCH}.matching.events"),
    plan_command("updates", plans.UpdatesPlan, f"{_BENCH}.matching.updates"),
    plan_command("tags", plans.TagsPlan, f"{_BENCH}.matching.tags"),
    plan_command("minimal", plans.MinimalPlan, f"{_BENCH}.matching.minimal"),
    plan_command("network", plans.NetworkBenchPlan, _network_module),
    plan_command("router", plans.RouterPlan, f"{_BENCH}.router.comparison"),
    door,
    plan_command("durable", plans.DurablePlan, f"{_BENCH}.acknowledged.comparison"),
    plan_command("clients", plans.ClientsPlan, f"{_BENCH}.client.client_speed"),
    churn,
    plan_command("announcements", plans.AnnouncementsPlan, f"{_BENCH}.network.announcements"),
    month,
    schedules,
    histories,
    plan_command("spark", plans.SparkPlan, f"{_BENCH}.spark.match_bench"),
    plan_command("compare", plans.ComparePlan, f"{_BENCH}.checkouts"),
):
    bench.command(cls=CommandHelp)(command)
