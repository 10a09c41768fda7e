"""`cbnet bench network`: what do router processes deliver on this machine, how fast, and what if something fails?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.bench.numbers import listed
from cbnet.cli.console import AsJson, print_json, print_remark
from cbnet.cli.progress import reported_steps
from cbnet.cli.seeds import seed_option
from cbnet.errors import CbnetError, InputError

if TYPE_CHECKING:
    from cbnet.lab.bench.network.throughput import NetworkPlan

_ONE_AND_TWO = ["tree:1", "tree:2"]
_MANY = "powerlaw:20"


def network(
    topology: Annotated[
        list[str] | None,
        typer.Option(
            "--topology",
            help="A generator such as powerlaw:20, or a file of a graph; repeat it for more.",
            show_default="tree:1 and tree:2, one router and two",
        ),
    ] = None,
    messages: Annotated[int, typer.Option("--messages", min=1, help="Messages to publish.")] = 20_000,
    subscribers: Annotated[int, typer.Option("--subscribers", min=1, help="Clients that receive.")] = 100,
    predicates: Annotated[
        str, typer.Option("--predicates", help="full: of the 2002 mix; equality: one value to a filter.")
    ] = "full",
    filters: Annotated[int, typer.Option("--filters", min=1, help="Filters of each subscriber.")] = 10,
    payload: Annotated[int, typer.Option("--payload", min=16, help="Bytes that go with a message.")] = 100,
    rate: Annotated[
        float | None,
        typer.Option("--rate", min=1, help="Messages a second of the second run.", show_default="half of full speed"),
    ] = None,
    window: Annotated[
        int, typer.Option("--window", min=1, help="Deliveries that may be under way at full speed.")
    ] = 1_000,
    processes: Annotated[int, typer.Option("--processes", min=1, help="Processes that share the subscribers.")] = 2,
    scheme: Annotated[str, typer.Option("--scheme", help="psf, ips, pif, drp or multitree.")] = "psf",
    seed: Annotated[int, seed_option("Of the graph and the workload.")] = 0,
    broker: Annotated[
        bool, typer.Option("--broker", help="Compare with RabbitMQ, by a headers exchange, where it is installed.")
    ] = False,
    bindings: Annotated[
        str, typer.Option("--bindings", metavar="N[,N…]", help="Bindings of that comparison.")
    ] = "10,1000,10000",
    fail: Annotated[
        str | None,
        typer.Option("--fail", help="Let a link, a silent-link or a router fail under load.", show_default=False),
    ] = None,
    json: AsJson = False,
) -> None:
    """Start routers and clients as processes, publish, and check every delivery with the reference.

    First as fast as it goes, then at a rate. With --broker or --fail, that is measured instead.

    Example: cbnet bench network --topology powerlaw:20 --subscribers 100 --messages 100000
    """
    from cbnet.lab.bench.network.throughput import NetworkPlan

    if broker and fail is not None:
        raise InputError("--broker and --fail are two measurements", hint="ask for one after the other")
    plans = [
        NetworkPlan(each, scheme, predicates, subscribers, filters, messages, payload, processes, window, rate, seed)
        for each in topology or _ONE_AND_TWO
    ]
    if broker:
        _compare(plans[0], listed("--bindings", bindings), as_json=json)
    elif fail is not None:
        _fail(plans if topology else [replace(plans[0], topology=_MANY)], fail, as_json=json)
    else:
        _measure(plans, as_json=json)


def _measure(plans: list[NetworkPlan], *, as_json: bool) -> None:
    from cbnet.cli.bench.network_output import print_network
    from cbnet.lab.bench.network.throughput import bench_network, wrong_runs

    with reported_steps() as report:
        outcomes = [bench_network(plan, report) for plan in plans]
    if as_json:
        for outcome in outcomes:
            for row in outcome.rows():
                print_json(row)
    else:
        print_network(outcomes)
    _check(wrong_runs((f"{each.plan.topology}, {name}", run) for each in outcomes for name, run in each.runs))


def _compare(plan: NetworkPlan, bindings: list[int], *, as_json: bool) -> None:
    from cbnet.cli.bench.broker_output import print_comparison, remark
    from cbnet.lab.bench.network.broker_comparison import compare
    from cbnet.lab.bench.network.throughput import wrong_runs

    with reported_steps() as report:
        comparison = compare(plan, bindings, report)
    if comparison.version is None:
        print_remark(remark())
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


def _fail(plans: list[NetworkPlan], kind: str, *, as_json: bool) -> None:
    from cbnet.cli.bench.failure_output import print_failure
    from cbnet.lab.bench.network.failures import bench_failure

    for plan in plans:
        with reported_steps() as report:
            outcome = bench_failure(plan, kind, report)
        if as_json:
            print_json(outcome.members())
        else:
            print_failure(outcome)
        if not outcome.is_as_guaranteed:
            raise CbnetError("what is guaranteed did not hold: please report this")


def _check(wrong: list[str]) -> None:
    if wrong:
        raise CbnetError(f"not delivered exactly as the reference says: {'; '.join(wrong)}")
