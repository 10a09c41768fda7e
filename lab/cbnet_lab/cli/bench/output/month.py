"""Output of `cbnet bench month`: events, messages, recoveries and guarantees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cbnet.cli.console import add_cells, new_grid, plural, results_console

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet_lab.faults.month import MonthOutcome

_TABLES = {  # by title: the heads, and the counts below them
    "Messages": {
        "messages": "messages", "quiet": "quiet_messages", "delivered": "delivered", "missed: quiet": "missed_quiet",
        "changing": "missed_changing", "twice": "twice", "spurious": "spurious", "order": "order",
    },
    "Requests": {
        "requests": "requests", "replies": "replies", "from caches": "from_caches", "no item": "without",
        "timeouts": "timeouts", "missed: quiet": "unanswered_quiet", "no end": "endless",
    },
    "Packets between routers": {
        "sent": "packets_sent", "retried": "packets_retried", "unpruned": "packets_unpruned",
    },
}  # fmt: skip
_GUARANTEES = {  # by text: kinds of violations
    "Messages missed while the network is quiet": ["lost"],
    "Duplicates": ["repeated"],
    "Spurious deliveries": ["spurious", "wrong reply"],
    "Deliveries out of order while the network is quiet": ["order"],
    "Requests without an end, or without a reply in a quiet network": ["endless", "no reply"],
}


def print_month(outcomes: Sequence[MonthOutcome]) -> None:
    """Print the messages, the events, the recovery times and whether the guarantees held."""
    console = results_console()
    first, plan = outcomes[0], outcomes[0].plan
    console.print(
        f"[bold]{plan.topology}, seed {plan.seed}[/]: {plural(first.routers, 'router')}, "
        f"{plural(first.links, 'link')}, {plural(first.clients, 'client')}; {plan.hours:g} h of simulated time, "
        f"{plan.rate:g} messages per second\n"
    )
    for title, columns in _TABLES.items():
        grid = new_grid(title, "trees", *columns, tight=True)
        for each in outcomes:
            counts = each.counts()
            add_cells(grid, str(each.routing), *(f"{counts[name]:,}" for name in columns.values()))
        console.print(grid)
    console.print(_times(outcomes))
    console.print(_recoveries(outcomes))
    for line in _checked(outcomes):
        console.print(line)


def _times(outcomes: Sequence[MonthOutcome]) -> Grid:
    heads = ("times", "p50 s", "p95", "longest", "time quiet")
    grid = new_grid("Recoveries: from a change in a converged network until it has converged again", "trees", *heads)
    for each in outcomes:
        times = (f"{time:.2f}" for time in each.times)
        add_cells(grid, str(each.routing), f"{len(each.found.recoveries):,}", *times, f"{each.quiet_share:.0%}")
    return grid


def _recoveries(outcomes: Sequence[MonthOutcome]) -> Grid:
    """Return the events, with the recovery times of those that happened alone."""
    import numpy as np

    seconds: dict[str, list[float]] = {}
    for each in (each for outcome in outcomes for each in outcome.found.recoveries):
        if len(each.kinds) == 1:
            seconds.setdefault(each.kinds[0], []).append(each.seconds)
    grid = new_grid("Recovery time in seconds", "event", "times", "alone", "p50", "longest")
    for kind, count in sorted(sum((each.events for each in outcomes), Counter[str]()).items()):
        alone = seconds.get(kind)
        cells = ("0", "–", "–") if not alone else (f"{len(alone):,}", f"{np.median(alone):.2f}", f"{max(alone):.2f}")
        add_cells(grid, kind, f"{count:,}", *cells)
    return grid


def _checked(outcomes: Sequence[MonthOutcome]) -> Iterator[str]:
    from cbnet_lab.faults.month import MAX_RECOVERY

    late = {f"Recoveries not complete {MAX_RECOVERY:g} s after the last change": ["unsettled"]}
    for text, kinds in (_GUARANTEES | late).items():
        wrong = sum(each.found.number(*kinds) for each in outcomes)
        yield f"guaranteed    {text}: {wrong:,}{' [bold red](BROKEN)[/]' if wrong else ''}."
    yield f"best effort   Deliveries missed during changes: {sum(each.found.counts['missed'] for each in outcomes):,}."
    for each in outcomes:
        yield from (f"[red]{example}[/]" for example in each.members()["violations"])
