"""`cbnet bench schedules`: random schedules of failures over small random networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import add_cells, new_grid, print_json, progress_bar, results_console
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cbnet_lab.faults.schedules import SchedulesOutcome


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
    from cbnet_lab.faults.schedules import bench_schedules

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
    from cbnet_lab.faults.schedules import KINDS

    console, first = results_console(), outcomes[0]
    last = first.first_seed + first.schedules - 1
    console.print(f"[bold]random schedules[/], seeds {first.first_seed:,} to {last:,}\n")
    checked = new_grid("Checked", "trees", "schedules", "kills", "cuts", "deliveries", "after a confirmation")
    violations = new_grid("Violations", "trees", *(kind.replace("_", " ") for kind in KINDS))
    for each in outcomes:
        kills, cuts = (sum(n for kind, n in each.events.items() if what in kind) for what in ("kill", "cut"))
        counts = (each.schedules, kills, cuts, each.deliveries, each.counts["confirmed"])
        add_cells(checked, each.routing, *(f"{count:,}" for count in counts))
        add_cells(violations, each.routing, *(f"{each.violations[kind]:,}" for kind in KINDS))
    console.print(checked)
    console.print(violations)
    for each in outcomes:
        for example in each.examples:
            console.print(f"[red]{each.routing}: {example}[/]")
