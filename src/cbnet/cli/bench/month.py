"""`cbnet bench month`: does a network deliver as it must through a month of failures, squeezed into an hour?"""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.console import AsJson, print_json
from cbnet.cli.progress import reported_steps
from cbnet.cli.seeds import seed_option
from cbnet.errors import CbnetError, InputError


def month(
    topology: Annotated[
        str, typer.Option("--topology", help="A generator such as powerlaw:20, or a file of a graph.")
    ] = "powerlaw:20",
    hours: Annotated[float, typer.Option("--hours", help="Of the simulated clock.")] = 1.0,
    rate: Annotated[float, typer.Option("--rate", help="Messages in a second of it.")] = 5.0,
    scheme: Annotated[
        str, typer.Option("--scheme", help="psf, ips, pif, drp, multitree, several with commas, or all.")
    ] = "all",
    seed: Annotated[int, seed_option("Of the graph, the failures and the messages.")] = 0,
    json: AsJson = False,
) -> None:
    """Let links, routers and clients of a network in memory fail and come back, and judge every message.

    Example: cbnet bench month --hours 1 --scheme all
    """
    from cbnet.cli.bench.month_output import print_month
    from cbnet.lab.bench.soak.month import MonthPlan, bench_month

    plan = MonthPlan(topology, hours, rate, seed)
    names = _schemes(scheme)
    outcomes = []
    with reported_steps() as report:
        for name in names:
            outcomes.append(bench_month(plan, name, report))
            if json:
                print_json(outcomes[-1].members())
    if not json:
        print_month(outcomes)
    bad = [each.scheme for each in outcomes if not each.is_good]
    if bad:
        raise CbnetError(f"what is guaranteed did not hold for {', '.join(bad)}: please report this")


def _schemes(said: str) -> list[str]:
    from cbnet.routing import SCHEMES

    names = list(SCHEMES) if said == "all" else [name.strip() for name in said.split(",")]
    for name in names:
        if name not in SCHEMES:
            raise InputError(f"unknown scheme {name!r}", hint="use all, or some of " + ", ".join(SCHEMES))
    return names
