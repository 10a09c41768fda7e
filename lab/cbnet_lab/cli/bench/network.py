"""`cbnet bench network`: throughput, latency and failures of router processes on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import print_json, print_note, step_progress
from cbnet.cli.options import Json, seed_option, topology_option
from cbnet.errors import CbnetError, InputError
from cbnet_lab.cli.bench.output.numbers import parse_numbers

if TYPE_CHECKING:
    from cbnet_lab.bench.network.throughput import ThroughputPlan

_DEFAULT = ["tree:1", "tree:2"]  # one router, and two
_FAILURE_DEFAULT = "powerlaw:20"


def network(
    topology: Annotated[
        list[str] | None,
        topology_option(
            "Graph file, or a generator such as powerlaw:20; repeatable.", show_default="tree:1 and tree:2"
        ),
    ] = None,
    messages: Annotated[int, typer.Option("--messages", metavar="M", min=1, help="Messages to publish.")] = 20_000,
    subscribers: Annotated[int, typer.Option("--subscribers", metavar="N", min=1, help="Receiving clients.")] = 100,
    mix: Annotated[
        str, typer.Option("--mix", metavar="NAME", help="Filters: full (the 2002 mix) or equality (one value each).")
    ] = "full",
    filters: Annotated[int, typer.Option("--filters", metavar="F", min=1, help="Filters per subscriber.")] = 10,
    payload_bytes: Annotated[
        int, typer.Option("--payload-bytes", metavar="B", min=16, help="Payload size of a message.")
    ] = 100,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            metavar="R",
            min=1,
            help="Messages per second of the second run.",
            show_default="half of full speed",
        ),
    ] = None,
    window: Annotated[
        int, typer.Option("--window", metavar="W", min=1, help="Maximum deliveries in flight at full speed.")
    ] = 1_000,
    processes: Annotated[
        int, typer.Option("--processes", metavar="P", min=1, help="Processes that share the subscribers.")
    ] = 2,
    trees: Annotated[
        str, typer.Option("--trees", metavar="K", help="Number of routing trees, or pif for one per source.")
    ] = "1",
    seed: Annotated[int, seed_option("Seed of the graph and the workload.")] = 0,
    broker: Annotated[
        bool, typer.Option("--broker", help="Compare with RabbitMQ (headers exchange), if it is installed.")
    ] = False,
    bindings: Annotated[
        str, typer.Option("--bindings", metavar="N,...", help="Numbers of bindings for --broker.")
    ] = "10,1000,10000",
    fail: Annotated[
        str | None,
        typer.Option(
            "--fail",
            metavar="KIND",
            help="Failure to cause under load: link, silent-link, router, routers (in turn), or random (kills).",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", min=10, help="Duration of --fail random.")] = 60.0,
    json: Json = False,
) -> None:
    """Run routers and clients as processes, publish messages, and check every delivery.

    The first run is at full speed, the second at a fixed rate. --broker and --fail replace both.

    Example: cbnet bench network --topology powerlaw:20 --subscribers 100 --messages 100000
    """
    from cbnet_lab.bench.network.throughput import ThroughputPlan
    from cbnet_lab.bench.routing import Routing

    if broker and fail is not None:
        raise InputError("--broker and --fail exclude each other", hint="run one after the other")
    routing = Routing.of(trees)
    plans = [
        ThroughputPlan(each, routing, mix, subscribers, filters, messages, payload_bytes, processes, window, rate, seed)
        for each in topology or _DEFAULT
    ]
    if broker:
        _compare(plans[0], parse_numbers("--bindings", bindings), as_json=json)
    elif fail is not None:
        _fail(plans if topology else [replace(plans[0], topology=_FAILURE_DEFAULT)], fail, seconds, as_json=json)
    else:
        _measure(plans, as_json=json)


def _measure(plans: list[ThroughputPlan], *, as_json: bool) -> None:
    from cbnet_lab.bench.network.throughput import bench_network, wrong_runs
    from cbnet_lab.cli.bench.output.network import print_network

    with step_progress() as report:
        outcomes = [bench_network(plan, report) for plan in plans]
    if as_json:
        for outcome in outcomes:
            for row in outcome.rows():
                print_json(row)
    else:
        print_network(outcomes)
    _check(wrong_runs((f"{each.plan.topology}, {name}", run) for each in outcomes for name, run in each.runs))


def _compare(plan: ThroughputPlan, bindings: list[int], *, as_json: bool) -> None:
    from cbnet_lab.bench.network.broker_comparison import compare
    from cbnet_lab.bench.network.throughput import wrong_runs
    from cbnet_lab.cli.bench.output.broker import missing_broker_note, print_comparison

    with step_progress() as report:
        comparison = compare(plan, bindings, report)
    if comparison.version is None:
        print_note(missing_broker_note())
    if as_json:
        for result in comparison.results:
            print_json({**result.members(), "broker": comparison.version})
    else:
        print_comparison(comparison, plan)
    _check(
        wrong_runs(
            (f"{each.rival}, {each.bindings} filters", run) for each in comparison.results for run in each.rounds
        )
    )


def _fail(plans: list[ThroughputPlan], kind: str, seconds: float, *, as_json: bool) -> None:
    from cbnet_lab.cli.bench.output.failures import print_failure
    from cbnet_lab.faults.failures import bench_failure

    for plan in plans:
        with step_progress() as report:
            outcome = bench_failure(plan, kind, seconds, report)
        if as_json:
            print_json(outcome.members())
        else:
            print_failure(outcome)
        if not outcome.found.is_good:
            raise CbnetError("guarantees violated: please report this")


def _check(wrong: list[str]) -> None:
    if wrong:
        raise CbnetError(f"deliveries differ from the reference: {'; '.join(wrong)}")
