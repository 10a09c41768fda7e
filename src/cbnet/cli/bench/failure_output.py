"""Bench failure output: how is what a failure cost shown to people, next to what is guaranteed?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbnet.cli.console import counted
from cbnet.cli.grids import add_cells, new_grid

if TYPE_CHECKING:
    from cbnet.lab.bench.network.failures import FailureOutcome, Missed

_FAILS = {
    "link": "the link {} is cut: both ends notice at once",
    "silent-link": "the link {} falls silent: both ends notice after 3.5 s",
    "router": "the router {} is killed; it has no clients",
}
_MENDED = {"link": "the link is back", "silent-link": "the link is back", "router": "the router is started again"}


def print_failure(outcome: FailureOutcome) -> None:
    """Print what was missed when, and whether what is guaranteed held."""
    from rich.console import Console

    console = Console(highlight=False)
    plan, checked = outcome.plan, outcome.verdict
    console.print(
        f"[bold]{plan.topology}, {plan.scheme}, seed {plan.seed}[/]: {counted(plan.subscribers, 'subscriber')}, "
        f"{outcome.messages:,} messages at {outcome.rate:,.0f} a second, {counted(checked.expected, 'delivery')}\n"
    )
    grid = new_grid("Missed", "what happens", "messages", "deliveries", "last sent after")
    _row(grid, "nothing yet", outcome.before)
    _row(grid, _FAILS[outcome.kind].format(outcome.victim), outcome.after_failure)
    _row(grid, _MENDED[outcome.kind], outcome.after_mending)
    console.print(grid)
    for held, said in (
        (not checked.twice, f"Nothing is delivered twice: {checked.twice:,} were"),
        (not checked.spurious, f"Nothing comes to who did not ask: {checked.spurious:,} did"),
        (not outcome.before.messages, f"While nothing changes nothing is missed: {outcome.before.messages:,} were"),
    ):
        console.print(f"guaranteed    {said}{'' if held else ' [bold red](BROKEN)[/]'}.")
    console.print("not promised  What is under way meanwhile may be missed, as in the table; nothing is sent again.")
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in sorted(outcome.dropped.items())) or "nothing"
    console.print(f"dropped       {dropped}.")


def _row(grid: object, what: str, missed: Missed) -> None:
    after = f"{missed.seconds * 1000:,.0f} ms" if missed.messages and missed.seconds else "–"
    add_cells(grid, what, f"{missed.messages:,}", f"{missed.deliveries:,}", after)  # type: ignore[arg-type]
