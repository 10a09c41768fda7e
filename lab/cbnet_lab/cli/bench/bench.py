"""`cbnet bench`: benchmarks that compare alternatives in one run and check the answers."""

from __future__ import annotations

import typer

from cbnet.cli.command_help import CommandHelp, GroupHelp
from cbnet_lab.bench import plans
from cbnet_lab.cli.bench.plan_command import plan_command
from cbnet_lab.faults import plans as fault_plans

_BENCH, _FAULTS = "cbnet_lab.bench", "cbnet_lab.faults"


def _network_module(plan: plans.NetworkBenchPlan) -> str:
    return f"{_BENCH}.network.throughput" if plan.fail is None else f"{_FAULTS}.failures"


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
    plan_command("http", fault_plans.HttpPlan, f"{_FAULTS}.http_trial"),
    plan_command("durable", plans.DurablePlan, f"{_BENCH}.acknowledged_publishing"),
    plan_command("clients", plans.ClientsPlan, f"{_BENCH}.client_speed"),
    plan_command("churn", fault_plans.ChurnPlan, f"{_FAULTS}.churn"),
    plan_command("attacks", fault_plans.AttacksPlan, f"{_FAULTS}.attacks.trial"),
    plan_command("announcements", plans.AnnouncementsPlan, f"{_BENCH}.network.announcements"),
    plan_command("month", fault_plans.MonthPlan, f"{_FAULTS}.runs"),
    plan_command("schedules", fault_plans.SchedulesPlan, f"{_FAULTS}.runs"),
    plan_command("histories", fault_plans.HistoriesPlan, f"{_FAULTS}.runs"),
    plan_command("spark", plans.SparkPlan, f"{_BENCH}.spark_matching"),
    plan_command("compare", plans.ComparePlan, f"{_BENCH}.checkouts"),
):
    bench.command(cls=CommandHelp)(command)
