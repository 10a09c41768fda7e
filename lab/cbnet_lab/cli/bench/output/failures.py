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
    "random": "random kills of routers {}, which have no clients",
}
_REPAIRS = {
    "link": "link restored",
    "silent-link": "link restored",
    "router": "router restarted",
    "routers": "each restarted",
    "random": "restarts",
}

_GUARANTEES = {
    "Duplicates": "repeated",
    "Spurious deliveries": "spurious",
    "Deliveries out of order while the network is quiet": "order",
    "Deliveries missed while the network is quiet": "lost",
}


def print_failure(outcome: FailureOutcome) -> None:
    """Print the missed messages of each phase, and whether the guarantees held."""
    console = results_console()
    plan, found = outcome.plan, outcome.found
    console.print(
        f"[bold]{plan.topology}, trees {plan.routing}, seed {plan.seed}[/]: {plural(plan.subscribers, 'subscriber')}, "
        f"{outcome.order.count:,} messages at {outcome.order.rate:,.0f} per second, "
        f"{plural(found.counts['expected'], 'delivery')}, {plural(found.faults.total(), 'failure')}\n"
    )
    grid = new_grid("Missed", "event", "messages", "deliveries", "last sent after", "converged after")
    _row(grid, _FAILURES[outcome.kind].format(", ".join(outcome.victims)), outcome.after_failure)
    _row(grid, _REPAIRS[outcome.kind], outcome.after_repair)
    _row(grid, "quiet network", outcome.quiet)
    console.print(grid)
    for text, kind in _GUARANTEES.items():
        count = found.number(kind)
        console.print(f"guaranteed    {text}: {count:,}{' [bold red](BROKEN)[/]' if count else ''}.")
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
