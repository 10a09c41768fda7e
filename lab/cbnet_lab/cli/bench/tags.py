"""`cbnet bench tags`: speed and size of tag tables, and false positives of Bloom tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import add_cells, new_grid, plural, print_json, results_console
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError
from cbnet_lab.cli.bench.output.numbers import MeasurementSeconds, number, parse_interface_counts, parse_numbers, ratio

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet_lab.bench.matching.tags import TagOutcome, TagResult


def tags(
    descriptors: Annotated[
        str, typer.Option("--descriptors", metavar="F,...", help="Descriptors in the table; one run per number.")
    ] = "10000,100000,1000000",
    interfaces: Annotated[
        str,
        typer.Option(
            "--interfaces", metavar="I,...", help="Interfaces that share the descriptors; F for one per descriptor."
        ),
    ] = "F,100",
    messages: Annotated[int, typer.Option("--messages", metavar="M", help="Messages to match.")] = 1_000,
    seed: Annotated[int, seed_option()] = 0,
    seconds: MeasurementSeconds = 0.3,
    json: Json = False,
) -> None:
    """Match tagged messages against tables of descriptors: exact, Bloom filters, and the general engine.

    Tags are drawn from 100,000 by Zipf's law: 1 to 6 per descriptor, 4 to 15 per message.

    Example: cbnet bench tags --descriptors 100000 --interfaces 100
    """
    from cbnet.cli.console import step_progress
    from cbnet_lab.bench.matching.tags import tag_tables
    from cbnet_lab.workload.tag_traffic import TagTraffic

    runs = [
        TagTraffic(count, own, messages, seed=seed)
        for count in parse_numbers("--descriptors", descriptors)
        for own in parse_interface_counts(interfaces)
    ]
    wrong: list[str] = []
    for run in runs:
        with step_progress() as report:
            outcome = tag_tables(run, seconds, report)
        if json:
            for result in outcome.results:
                print_json(result.members())
        else:
            _show(outcome, seed)
        wrong += [f"{result.table} and {other}" for result in outcome.results for other in result.differences]
    if wrong:
        raise CbnetError(f"different answers from {'; '.join(wrong)}: please report this")


def _show(outcome: TagOutcome, seed: int) -> None:

    first = outcome.results[0]
    console = results_console()
    sizes = ((first.descriptors, "descriptor"), (first.interfaces, "interface"))
    matched = f"a message matches {number(first.matched)} of them"
    console.print(f"[bold]tags, seed {seed}[/]: {', '.join(plural(*size) for size in sizes)}; {matched}\n")
    console.print(_times(outcome.results))
    for result in outcome.results:
        if result.by_tags is not None:
            console.print(_false_positives(result))
    for line in (*_ratios(outcome.results), *_checked(outcome)):
        console.print(line)
    console.print()


def _times(results: list[TagResult]) -> Grid:
    heads = ("single", "batch", "json.loads", "batch / json", "bytes / descriptor", "false positives")
    grid = new_grid("Microseconds per message, size, and false positives", "table", *heads)
    for result in results:
        times = (result.us_single, result.us_batch, result.us_json_loads, ratio(result.us_batch, result.us_json_loads))
        rest = (result.bytes_per_descriptor, result.false_positives)
        add_cells(grid, result.table, *map(number, (*times, *rest)))
    return grid


def _false_positives(result: TagResult) -> Grid:
    """Return the false positives by number of tags in the message."""
    heads = ("messages", "one, predicted", "measured", "any of all, predicted", "measured")
    title = f"False positives of {result.table}, with {result.hashes} hashes per tag"
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
        times = number(ratio(other.us_batch, first.us_batch))
        yield f"In batch, {first.table} is {times} times as fast as {other.table}."


def _checked(outcome: TagOutcome) -> Iterator[str]:
    equal = all(result.equal for result in outcome.results)
    correct = "The exact tables agree on every call path, and bloom misses nothing"
    yield f"{correct if equal else '[bold red]The answers differ[/]'}, on {plural(outcome.messages, 'message')}."
    expected = outcome.expected
    yield f"The reference matched {len(expected.answers):,} of them: {plural(expected.deliveries, 'delivery')}."
