"""`cbnet bench`: benchmarks that compare alternatives in one run and check the answers."""

from __future__ import annotations

from cbnet.cli.command_help import command_group
from cbnet_lab.bench import plans
from cbnet_lab.cli.bench.plan_command import plan_command
from cbnet_lab.faults import plans as fault_plans

_BENCH, _FAULTS = "cbnet_lab.bench", "cbnet_lab.faults"


bench = command_group(
    "Measure performance on this machine; every benchmark checks its answers.",
    forwarding=plan_command(plans.ForwardingPlan, f"{_BENCH}.matching.forwarding"),
    files=plan_command(plans.FilesPlan, f"{_BENCH}.matching.files"),
    events=plan_command(plans.EventsPlan, f"{_BENCH}.matching.events"),
    updates=plan_command(plans.UpdatesPlan, f"{_BENCH}.matching.updates"),
    tags=plan_command(plans.TagsPlan, f"{_BENCH}.matching.tags"),
    minimal=plan_command(plans.MinimalPlan, f"{_BENCH}.matching.minimal"),
    network=plan_command(
        plans.NetworkBenchPlan,
        lambda plan: f"{_BENCH}.network.throughput" if plan.fail is None else f"{_FAULTS}.failures",
    ),
    router=plan_command(plans.RouterPlan, f"{_BENCH}.router.comparison"),
    http=plan_command(fault_plans.HttpPlan, f"{_FAULTS}.http_trial"),
    durable=plan_command(plans.DurablePlan, f"{_BENCH}.acknowledged_publishing"),
    churn=plan_command(fault_plans.ChurnPlan, f"{_FAULTS}.churn"),
    attacks=plan_command(fault_plans.AttacksPlan, f"{_FAULTS}.attacks.trial"),
    announcements=plan_command(plans.AnnouncementsPlan, f"{_BENCH}.network.announcements"),
    month=plan_command(fault_plans.MonthPlan, f"{_FAULTS}.runs"),
    schedules=plan_command(fault_plans.SchedulesPlan, f"{_FAULTS}.runs"),
    histories=plan_command(fault_plans.HistoriesPlan, f"{_FAULTS}.runs"),
    spark=plan_command(plans.SparkPlan, f"{_BENCH}.spark_matching"),
    compare=plan_command(plans.ComparePlan, f"{_BENCH}.checkouts"),
)
