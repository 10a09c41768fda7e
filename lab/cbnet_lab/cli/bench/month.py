"""`cbnet bench month`: a month of failures in an hour of simulated time."""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.console import print_json, step_progress
from cbnet.cli.options import Json, seed_option, topology_option
from cbnet.errors import CbnetError


def month(
    topology: Annotated[str, topology_option(show_default=True)] = "powerlaw:20",
    hours: Annotated[float, typer.Option("--hours", metavar="H", help="Simulated hours.")] = 1.0,
    rate: Annotated[float, typer.Option("--rate", metavar="R", help="Messages per simulated second.")] = 5.0,
    trees: Annotated[
        str,
        typer.Option(
            "--trees", metavar="K,...", help="Numbers of routing trees, or pif for one per source; one run each."
        ),
    ] = "1,2,4,pif",
    seed: Annotated[int, seed_option("Seed of the graph, the failures and the messages.")] = 0,
    json: Json = False,
) -> None:
    """Fail and restore links, routers and clients of a simulated network, and check every message.

    Example: cbnet bench month --hours 1 --trees 1,4,pif
    """
    from cbnet_lab.bench.routing import Routing
    from cbnet_lab.cli.bench.output.month import print_month
    from cbnet_lab.faults.month import MonthPlan, bench_month

    plan = MonthPlan(topology, hours, rate, seed)
    outcomes = []
    with step_progress() as report:
        for routing in Routing.from_text(trees):
            outcomes.append(bench_month(plan, routing, report))
            if json:
                print_json(outcomes[-1].members())
    if not json:
        print_month(outcomes)
    broken = [str(each.routing) for each in outcomes if not each.is_good]
    if broken:
        raise CbnetError(f"guarantees violated with --trees {', '.join(broken)}: please report this")
