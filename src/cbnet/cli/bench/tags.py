"""`cbnet bench tags`: how fast and how small is each table of tags, and how often is a Bloom table wrong?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.bench.numbers import checked_seconds, listed, listed_interfaces, number, over
from cbnet.cli.console import AsJson, counted, print_json
from cbnet.cli.grids import add_cells, new_grid
from cbnet.cli.seeds import seed_option
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.lab.bench.matching.tags import TagOutcome, TagResult


def tags(
    descriptors: Annotated[
        str, typer.Option("--descriptors", metavar="F[,F…]", help="Descriptors in the table; a run for each number.")
    ] = "10000,100000,1000000",
    interfaces: Annotated[
        str, typer.Option("--interfaces", metavar="I[,I…]", help="Interfaces that share them; F: one for each.")
    ] = "F,100",
    messages: Annotated[int, typer.Option("--messages", help="Messages to match.")] = 1_000,
    seed: Annotated[int, seed_option("Another seed makes another workload.")] = 0,
    seconds: Annotated[
        float, typer.Option("--seconds", callback=checked_seconds, help="The least time of a measurement.")
    ] = 0.3,
    json: AsJson = False,
) -> None:
    """Match tagged messages against tables of descriptors: exact, of Bloom filters, and for all filters.

    Tags follow Zipf's law over 100,000; descriptors have 1 to 6, messages 4 to 15.

    Example: cbnet bench tags --descriptors 100000 --interfaces 100
    """
    from cbnet.cli.progress import reported_steps
    from cbnet.lab.bench.matching.tags import tag_tables
    from cbnet.lab.workload.tag_traffic import TagTraffic

    runs = [
        TagTraffic(count, own, messages, seed=seed)
        for count in listed("--descriptors", descriptors)
        for own in listed_interfaces(interfaces)
    ]
    wrong: list[str] = []
    for run in runs:
        with reported_steps() as report:
            outcome = tag_tables(run, seconds, report)
        if json:
            for result in outcome.results:
                print_json(result.members())
        else:
            _show(outcome, seed)
        wrong += [f"{result.table} and {who}" for result in outcome.results for who in result.differences]
    if wrong:
        raise CbnetError(f"the answers differ, of {', of '.join(wrong)}: please report this")


def _show(outcome: TagOutcome, seed: int) -> None:
    from rich.console import Console

    first = outcome.results[0]
    console = Console(highlight=False)
    sizes = ((first.descriptors, "descriptor"), (first.interfaces, "interface"))
    matched = f"a message goes to {number(first.matched)} of them"
    console.print(f"[bold]tags, seed {seed}[/]: {', '.join(counted(*size) for size in sizes)}; {matched}\n")
    console.print(_times(outcome.results))
    for result in outcome.results:
        if result.by_tags is not None:
            console.print(_mistakes(result))
    for line in (*_ratios(outcome.results), *_checked(outcome)):
        console.print(line)
    console.print()


def _times(results: list[TagResult]) -> Grid:
    heads = ("single", "batch", "json.loads", "batch / json", "bytes / descriptor", "false positives")
    grid = new_grid("Microseconds per message, size, and interfaces reached in vain", "table", *heads)
    for result in results:
        times = (result.us_single, result.us_batch, result.us_json_loads, over(result.us_batch, result.us_json_loads))
        rest = (result.bytes_per_descriptor, result.false_positives)
        add_cells(grid, result.table, *map(number, (*times, *rest)))
    return grid


def _mistakes(result: TagResult) -> Grid:
    """Return the false positives by the number of tags of the message."""
    heads = ("messages", "one, predicted", "measured", "any of all, predicted", "measured")
    title = f"Descriptors mistaken by {result.table}, with {result.hashes} hashes for each tag"
    grid = new_grid(title, "tags in message", *heads)
    for row in result.by_tags or ():
        rates = (
            row.predicted_per_descriptor,
            row.measured_per_descriptor,
            row.predicted_per_predicate,
            row.measured_per_predicate,
        )
        add_cells(grid, row.tags, f"{row.messages:,}", *(f"{rate:.1e}" if rate else "0" for rate in rates))
    return grid


def _ratios(results: list[TagResult]) -> Iterator[str]:
    first = results[0]
    for other in results[1:]:
        times = number(over(other.us_batch, first.us_batch))
        yield f"In batch, {first.table} is {times} times as fast as {other.table}."


def _checked(outcome: TagOutcome) -> Iterator[str]:
    equal = all(result.equal for result in outcome.results)
    right = "The exact tables agree by every path, and bloom misses nothing"
    yield f"{right if equal else '[bold red]The answers differ[/]'}, on {counted(outcome.messages, 'message')}."
    asked, found = len(outcome.expected.answers), outcome.expected.deliveries
    yield f"The reference was asked about {asked:,} of them and found {counted(found, 'delivery')}."
