"""Output of `cbnet bench network --fail`: losses beside the guarantees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.cli.console import add_cells, new_grid, plural, results_console

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet_lab.faults.failures import FailureOutcome, Missed

_FAILURES = {
    "link": "link {} cut: both ends notice at once",
    "silent-link": "link {} silent: both ends notice after 3.5 s",
    "router": "router {} killed; it has no clients",
    "routers": "routers {} killed in turn; they have no clients",
    "random": "bursts with random kills of routers without clients",
}
_REPAIRS = {
    "link": "link restored",
    "silent-link": "link restored",
    "router": "router restarted",
    "routers": "each restarted",
    "random": "bursts of restarts only",
}


def print_failure(outcome: FailureOutcome) -> None:
    """Print the missed messages of each phase, and whether the guarantees held."""
    console = results_console()
    plan, checked = outcome.plan, outcome.verdict
    console.print(
        f"[bold]{plan.topology}, trees {plan.routing}, seed {plan.seed}[/]: {plural(plan.subscribers, 'subscriber')}, "
        f"{outcome.messages:,} messages at {outcome.rate:,.0f} per second, {plural(checked.expected, 'delivery')}, "
        f"{plural(outcome.failures, 'failure')}\n"
    )
    grid = new_grid("Missed", "event", "messages", "deliveries", "last sent after", "converged after")
    _row(grid, _FAILURES[outcome.kind].format(", ".join(outcome.victims)), outcome.after_failure)
    _row(grid, _REPAIRS[outcome.kind], outcome.after_repair)
    _row(grid, "quiet network", outcome.quiet)
    console.print(grid)
    for held, text in (
        (not checked.twice, f"Duplicates: {checked.twice:,}"),
        (not checked.spurious, f"Spurious deliveries: {checked.spurious:,}"),
        (not outcome.quiet.messages, f"Messages missed while the network is quiet: {outcome.quiet.messages:,}"),
    ):
        console.print(f"guaranteed    {text}{'' if held else ' [bold red](BROKEN)[/]'}.")
    console.print("best effort   Messages in flight during a change may be missed, as in the table; nothing is resent.")
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in sorted(outcome.dropped.items())) or "nothing"
    console.print(f"dropped       {dropped}.")
    if outcome.reconnects:
        console.print(
            f"meanwhile     {plural(outcome.reconnects, 'client')} reconnected: messages in flight may be missed."
        )


def _row(grid: Grid, event: str, missed: Missed) -> None:
    after = f"{missed.seconds * 1000:,.0f} ms" if missed.messages and missed.seconds else "–"
    converged = f"{missed.converged:.1f} s" if missed.converged else "–"
    add_cells(grid, event, f"{missed.messages:,}", f"{missed.deliveries:,}", after, converged)
