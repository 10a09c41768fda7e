"""`cbnet bench schedules`: random schedules of failures over small random networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import add_cells, new_grid, print_json, progress_bar, results_console
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cbnet_lab.faults.soak.schedules import SchedulesOutcome

_KINDS = ("missed", "missed_confirmed", "twice", "spurious", "tables_differ", "packets_differ", "unsettled")


def schedules(
    count: Annotated[int, typer.Option("--schedules", metavar="N", min=1, help="Schedules of each routing.")] = 1_000,
    trees: Annotated[
        str,
        typer.Option("--trees", metavar="K,...", help="Numbers of routing trees, or pif for one per source; in turn."),
    ] = "1,3,pif",
    seed: Annotated[int, seed_option("Seed of the first schedule; the others follow.")] = 0,
    json: Json = False,
) -> None:
    """Run random schedules of failures over small simulated networks, and check every table and delivery.

    A schedule cuts and repairs links, kills and starts routers, and changes subscriptions while messages are published.

    Example: cbnet bench schedules --schedules 1000 --trees 1,3 --seed 5000
    """
    from cbnet_lab.bench.routing import Routing
    from cbnet_lab.faults.soak.schedules import bench_schedules

    routings = Routing.from_text(trees)
    outcomes = []
    with progress_bar() as progress:
        task = progress.add_task("schedules", total=count * len(routings))
        for routing in routings:
            outcomes.append(bench_schedules(routing, seed, count, lambda: progress.advance(task)))
            if json:
                print_json(outcomes[-1].members())
    if not json:
        _show(outcomes)
    broken = [f"--trees {each.routing} --seed {each.broken[0]}" for each in outcomes if not each.is_good]
    if broken:
        raise CbnetError(f"guarantees violated, first with {'; '.join(broken)}: please report this")


def _show(outcomes: Sequence[SchedulesOutcome]) -> None:

    console = results_console()
    first = outcomes[0]
    last = first.first_seed + first.schedules - 1
    console.print(f"[bold]random schedules[/], seeds {first.first_seed:,} to {last:,}\n")
    heads = ("schedules", "kills", "cuts", "deliveries", "after a confirmation")
    grid = new_grid("Checked", "trees", *heads)
    for each in outcomes:
        counts = (each.schedules, each.events["kill"], each.events["cut"], each.deliveries, each.confirmed)
        add_cells(grid, each.routing, *(f"{count:,}" for count in counts))
    console.print(grid)
    grid = new_grid("Violations", "trees", *(kind.replace("_", " ") for kind in _KINDS))
    for each in outcomes:
        add_cells(grid, each.routing, *(f"{each.violations[kind]:,}" for kind in _KINDS))
    console.print(grid)
    for each in outcomes:
        for example in each.examples:
            console.print(f"[red]{each.routing}: {example}[/]")
