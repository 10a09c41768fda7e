"""`cbnet bench histories`: histories of acknowledged publishing under faults, each checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import add_cells, new_grid, print_json, progress_bar, results_console
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from cbnet_lab.faults.histories.histories import HistoryTotals

_COUNTS = {
    "messages published": "published",
    "with a receipt": "stored",
    "not stored: homes silent": "silent",
    "not stored: disk full": "refused",
    "due to subscriptions": "due",
    "due to subscriptions from the past": "replayed",
    "received": "received",
    "received again": "repeated",
}


def histories(
    count: Annotated[int, typer.Option("--histories", metavar="N", min=1, help="Number of histories.")] = 10,
    is_simulated: Annotated[
        bool, typer.Option("--simulated", help="Simulate time, network and disks, instead of starting processes.")
    ] = False,
    trees: Annotated[
        str,
        typer.Option("--trees", metavar="K,...", help="Numbers of routing trees, or pif for one per source; in turn."),
    ] = "1,2,pif",
    seconds: Annotated[
        float,
        typer.Option("--seconds", metavar="S", min=0.0, help="Begin none after this time.", show_default="no limit"),
    ] = float("inf"),
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Results, in JSON Lines; histories in it are not run again.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FOLDER", help="Where to write histories with violations.", show_default=False),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="Only check a history that was kept.", show_default=False),
    ] = None,
    seed: Annotated[int, seed_option("Seed of the first history; the others follow.")] = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Record what durable publishers and subscribers see under faults, and check what was promised to them.

    Processes are killed and stopped, links cut, silenced and slowed, disks full, journals torn; in simulated time,
    clocks jump, too. A message with a receipt must reach every durable subscription, once and in order.

    Example: cbnet bench histories --simulated --histories 100000 --output histories.jsonl --seconds 3600
    """  # fmt: skip
    from cbnet_lab.bench.routing import Routing
    from cbnet_lab.faults.histories.histories import PROCESSES, SIMULATED, HistoriesPlan, ResultFile, run_histories

    if check is not None:
        _check(check, is_json=json)
        return
    kind = SIMULATED if is_simulated else PROCESSES
    plan = HistoriesPlan(kind, range(seed, seed + count), Routing.from_text(trees), seconds, keep)
    results = ResultFile(output)
    with progress_bar() as progress:
        task = progress.add_task("histories", total=count)
        for result in run_histories(plan, results):
            progress.advance(task)
            if json:
                print_json(result.members())
    totals = results.totals(kind)
    if not json:
        _show(kind, totals)
    if totals.broken:
        first = totals.broken[0]
        raise CbnetError(f"promises broken in {len(totals.broken):,} histories, first with --seed {first.seed}")


def _show(kind: str, totals: HistoryTotals) -> None:
    console = results_console()
    grid = new_grid(f"Histories: {kind}", "", "number")
    add_cells(grid, "histories", f"{totals.histories:,}")
    for name, count in _COUNTS.items():
        add_cells(grid, name, f"{totals.counts[count]:,}")
    for name, number in sorted(totals.faults.items()):
        add_cells(grid, f"fault: {name}", f"{number:,}")
    add_cells(grid, "histories with violations", f"{len(totals.broken):,}")
    console.print(grid)
    for result in totals.broken[:20]:
        for name, texts in result.violations.items():
            console.print(f"[red]seed {result.seed}, trees {result.trees}, {name}: {texts[0]}[/]")


def _check(path: Path, *, is_json: bool) -> None:
    from cbnet_lab.faults.check.checker import check_record
    from cbnet_lab.faults.record import read_record

    found = check_record(read_record(path))
    counts = found.counts
    if is_json:
        print_json({"published": counts["published"], "due": counts["due"], "violations": found.violations})
    else:
        console = results_console()
        console.print(f"{counts['published']:,} messages published, {counts['due']:,} due to subscriptions")
        for text in found.texts():
            console.print(f"[red]{text}[/]")
    if not found.is_good:
        raise CbnetError(f"promises broken: {', '.join(found.violations)}")
