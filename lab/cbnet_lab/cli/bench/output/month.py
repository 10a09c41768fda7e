"""Output of `cbnet bench month`: events, messages, recoveries and guarantees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cbnet.cli.console import add_cells, new_grid, plural, results_console

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet_lab.faults.soak.month import MonthOutcome


def print_month(outcomes: Sequence[MonthOutcome]) -> None:
    """Print the messages, the events, the recovery times and whether the guarantees held."""
    console = results_console()
    first, plan = outcomes[0], outcomes[0].plan
    console.print(
        f"[bold]{plan.topology}, seed {plan.seed}[/]: {plural(first.routers, 'router')}, "
        f"{plural(first.links, 'link')}, {plural(first.clients, 'client')}; {plan.hours:g} h of simulated time, "
        f"{plan.rate:g} messages per second\n"
    )
    for grid in (_messages(outcomes), _requests(outcomes), _packets(outcomes), _times(outcomes), _recoveries(outcomes)):
        console.print(grid)
    for line in _checked(outcomes):
        console.print(line)


def _messages(outcomes: Sequence[MonthOutcome]) -> Grid:
    heads = ("messages", "quiet", "delivered", "missed: quiet", "changing", "twice", "spurious")
    grid = new_grid("Messages", "trees", *heads, tight=True)
    for each in outcomes:
        counts = each.counts
        numbers = (
            counts.messages, counts.quiet, counts.delivered, counts.missed_quiet, counts.missed_changing, counts.twice,
            counts.spurious,
        )  # fmt: skip
        add_cells(grid, str(each.routing), *(f"{count:,}" for count in numbers))
    return grid


def _requests(outcomes: Sequence[MonthOutcome]) -> Grid:
    heads = ("requests", "replies", "from caches", "no item", "timeouts", "missed: quiet", "no end")
    grid = new_grid("Requests", "trees", *heads, tight=True)
    for each in outcomes:
        counts = each.counts
        numbers = (
            counts.requests, counts.replies, counts.from_caches, counts.without, counts.timeouts,
            counts.unanswered_quiet, counts.endless,
        )  # fmt: skip
        add_cells(grid, str(each.routing), *(f"{count:,}" for count in numbers))
    return grid


def _packets(outcomes: Sequence[MonthOutcome]) -> Grid:
    grid = new_grid("Packets between routers", "trees", "sent", "retried", "unpruned", tight=True)
    for each in outcomes:
        numbers = (each.packets[key] for key in ("packets_sent", "packets_retried", "packets_unpruned"))
        add_cells(grid, str(each.routing), *(f"{count:,}" for count in numbers))
    return grid


def _times(outcomes: Sequence[MonthOutcome]) -> Grid:
    heads = ("times", "p50 s", "p95", "longest", "time quiet")
    grid = new_grid("Recoveries: from a change in a converged network until it has converged again", "trees", *heads)
    for each in outcomes:
        times = (f"{time:.2f}" for time in each.times)
        add_cells(grid, str(each.routing), f"{len(each.recoveries):,}", *times, f"{each.quiet_share:.0%}")
    return grid


def _recoveries(outcomes: Sequence[MonthOutcome]) -> Grid:
    """Return the events, with the recovery times of those that happened alone."""
    import numpy as np

    seconds: dict[str, list[float]] = {}
    for outcome in outcomes:
        for each in outcome.recoveries:
            if len(each.kinds) == 1:
                seconds.setdefault(each.kinds[0], []).append(each.seconds)
    grid = new_grid("Recovery time in seconds", "event", "times", "alone", "p50", "longest")
    happened = sum((each.events for each in outcomes[1:]), outcomes[0].events.copy())
    for kind, count in sorted(happened.items()):
        alone = seconds.get(kind)
        cells = ("0", "–", "–") if not alone else (f"{len(alone):,}", f"{np.median(alone):.2f}", f"{max(alone):.2f}")
        add_cells(grid, kind, f"{count:,}", *cells)
    return grid


def _checked(outcomes: Sequence[MonthOutcome]) -> Iterator[str]:
    from cbnet_lab.faults.soak.month import MAX_RECOVERY

    counts = [each.counts for each in outcomes]
    late = sum(each.since_last > MAX_RECOVERY for outcome in outcomes for each in outcome.recoveries)
    late += sum(not outcome.is_settled for outcome in outcomes)
    for wrong, text in (
        (sum(each.missed_quiet for each in counts), "Messages missed while the network is quiet: {}"),
        (sum(each.twice for each in counts), "Duplicates: {}"),
        (sum(each.spurious for each in counts), "Spurious deliveries: {}"),
        (
            sum(each.unanswered_quiet + each.endless for each in counts),
            "Requests without an end, or without a reply in a quiet network: {}",
        ),
        (late, f"Recoveries not complete {MAX_RECOVERY:g} s after the last change: {{}}"),
    ):
        yield f"guaranteed    {text.format(f'{wrong:,}')}{' [bold red](BROKEN)[/]' if wrong else ''}."
    missed = sum(each.missed_changing for each in counts)
    yield f"best effort   Deliveries missed during changes: {missed:,}."
    for each in counts:
        yield from (f"[red]{example}[/]" for example in each.examples)
