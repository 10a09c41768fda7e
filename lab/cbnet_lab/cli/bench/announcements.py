"""`cbnet bench announcements`: time and traffic until many subscriptions are known, compared with flooding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import add_cells, new_grid, plural, print_json, results_console, step_progress
from cbnet.cli.options import Json, seed_option, topology_option
from cbnet.errors import CbnetError
from cbnet_lab.cli.bench.output.numbers import number, ratio

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet_lab.bench.network.announcements import AnnouncementOutcome

_MEGABYTE = 1e6


def announcements(
    topology: Annotated[str, topology_option(show_default=True)] = "powerlaw:20",
    filters: Annotated[int, typer.Option("--filters", metavar="F", min=1, help="Filters of the client of each router.")]
    = 1_000,
    population: Annotated[
        str,
        typer.Option(
            "--population", metavar="NAME,...", help="random, covered (30 % by others) or tags; one run each."
        ),
    ] = "random,covered,tags",
    trees: Annotated[
        str,
        typer.Option("--trees", metavar="K,...", help="Numbers of routing trees, or pif for one per source; in turn."),
    ] = "1",
    messages: Annotated[int, typer.Option("--messages", metavar="M", min=1, help="Messages to publish then.")] = 300,
    memory: Annotated[
        bool, typer.Option("--memory", help="Run all routers in this process, with a simulated clock.")
    ] = False,
    seed: Annotated[int, seed_option("Seed of the graph, the filters and the messages.")] = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Subscribe at every router at once, wait for all confirmations, and check deliveries.

    The cost of flooding the same filters is computed beside it.

    Example: cbnet bench announcements --topology powerlaw:20 --filters 1000 --population tags
    """
    from cbnet_lab.bench.network.announcements import AnnouncementPlan, bench_announcements
    from cbnet_lab.bench.routing import Routing

    plans = [
        AnnouncementPlan(topology, filters, each.strip(), routing, messages, memory, seed)
        for each in population.split(",")
        for routing in Routing.from_text(trees)
    ]
    outcomes = []
    with step_progress() as report:
        for plan in plans:
            outcomes.append(bench_announcements(plan, report))
            if json:
                print_json(outcomes[-1].members())
    if not json:
        _show(outcomes)
    wrong = [each.plan.population for each in outcomes if not each.measured.verdict.is_exact]
    if wrong:
        raise CbnetError(f"deliveries differ from the reference: {', '.join(wrong)}")


def _show(outcomes: Sequence[AnnouncementOutcome]) -> None:

    console = results_console()
    first, plan = outcomes[0], outcomes[0].plan
    console.print(
        f"[bold]{plan.topology}, seed {plan.seed}[/]: {plural(first.routers, 'router')}, "
        f"{plural(first.links, 'link')}; a client with {plural(plan.filters, 'filter')} at each router\n"
    )
    for grid in (_costs(outcomes), _sizes(outcomes)):
        console.print(grid)
    for line in _lines(outcomes):
        console.print(line)


def _costs(outcomes: Sequence[AnnouncementOutcome]) -> Grid:
    heads = ("trees", "seconds", "CPU s", "frames", "filters sent", "MB")
    grid = new_grid("Until all subscriptions are confirmed", "population", *heads)
    for each in outcomes:
        for name, cost in (("", each.measured.cost), ("  flooding, computed", each.flooding)):
            times = (each.measured.seconds, sum(each.measured.cpu))
            own = ("–", "–", "–") if name else (str(each.plan.routing), *map(number, times))
            sent = (f"{cost.frames:,}", f"{cost.filters:,}", number(cost.bytes / _MEGABYTE))
            add_cells(grid, name or each.plan.population, *own, *sent)
    return grid


def _sizes(outcomes: Sequence[AnnouncementOutcome]) -> Grid:
    from cbnet_lab.bench.network.announcements import MinMedianMax

    heads = ("trees", "filters: min", "median", "max", "flooding", "MB: min", "median", "max")
    grid = new_grid("Different filters that a router holds, and its memory", "population", *heads)
    for each in outcomes:
        held, memory = MinMedianMax.of(each.measured.cost.held), MinMedianMax.of(each.measured.memory)
        filters = (f"{count:,.0f}" for count in (held.least, held.median, held.most, each.flooding.held[0]))
        sizes = (number(size / _MEGABYTE) for size in (memory.least, memory.median, memory.most))
        add_cells(grid, each.plan.population, each.plan.routing, *filters, *sizes)
    return grid


def _lines(outcomes: Sequence[AnnouncementOutcome]) -> Iterator[str]:
    copies = 2 * outcomes[0].links - outcomes[0].routers + 1
    yield (
        "Flooding is computed for the same filters, not measured: each router sends its predicate, reduced, once; on n"
        f" routers with m links it passes 2m - n + 1 = {copies} times over a link. Every router holds all filters."
    )
    if outcomes[0].plan.is_in_memory:
        yield "In memory: seconds of this process; its memory is divided by the number of routers."
    for each in outcomes:
        verdict, name = each.measured.verdict, f"{each.plan.population}, trees {each.plan.routing}"
        times = number(ratio(each.flooding.filters, each.measured.cost.filters))
        if each.measured.reconnects:
            count = plural(each.measured.reconnects, "client")
            yield f"{name}: {count} timed out and subscribed again, so more was sent: the machine is too busy."
        yield f"{name}: flooding sends {times} times as many filters."
        if verdict.is_exact:
            yield f"{name}: {plural(verdict.right, 'delivery')}, each exactly once, as in the reference."
        else:
            wrong = f"{verdict.missing:,} missing, {verdict.twice:,} duplicate, {verdict.spurious:,} spurious"
            yield f"[bold red]{name}: {wrong}[/]."
