"""`cbnet bench forwarding`: how fast does each engine find the interfaces of a message?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.bench.numbers import OWN, checked_seconds, interface_count, number, over
from cbnet.cli.console import AsJson, counted, print_json
from cbnet.cli.grids import add_cells, new_grid
from cbnet.cli.seeds import seed_option
from cbnet.errors import CbnetError

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.lab.bench.engine_result import EngineResult
    from cbnet.lab.bench.matching.forwarding import ForwardingOutcome


def forwarding(
    filters: Annotated[int, typer.Option("--filters", help="Filters in the table.")] = 10_000,
    interfaces: Annotated[
        str, typer.Option("--interfaces", metavar="I", help="Interfaces that share them; F: one for each.")
    ] = OWN,
    messages: Annotated[int, typer.Option("--messages", help="Messages to match.")] = 5_000,
    mix: Annotated[str, typer.Option("--mix", help="The workload: 2002, 2001 or equality.")] = "2002",
    names: Annotated[int | None, typer.Option("--names", help="Attribute names; as in the paper if not given.")] = None,
    seed: Annotated[int, seed_option("Another seed makes another workload.")] = 0,
    engine: Annotated[
        list[str] | None, typer.Option("--engine", help="An engine; repeat it for more. All, if not given.")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", callback=checked_seconds, help="The least time of a measurement.")
    ] = 0.3,
    json: AsJson = False,
) -> None:
    """Match generated messages against a generated table with every engine, and compare.

    Example: cbnet bench forwarding --filters 100000 --interfaces 500
    """
    from cbnet.cli.predicates.engine_names import checked_engines
    from cbnet.cli.progress import reported_steps
    from cbnet.lab.bench.bench_input import parameters_of
    from cbnet.lab.bench.matching.forwarding import forwarding as run

    engines = checked_engines(engine)
    count = interface_count(interfaces)
    parameters = parameters_of(mix, filters=filters, interfaces=count, messages=messages, names=names, seed=seed)
    with reported_steps() as report:
        outcome = run(parameters, engines, seconds, report)
    if json:
        for result in outcome.results:
            print_json(result.members())
    else:
        _show(outcome, f"{mix} mix, seed {seed}")
    wrong = [f"{result.engine} and {who}" for result in outcome.results for who in result.differences]
    if wrong:
        raise CbnetError(f"the answers differ, of {', of '.join(wrong)}: please report this")


def _show(outcome: ForwardingOutcome, workload: str) -> None:
    from rich.console import Console

    first = outcome.results[0]
    sizes = ((first.filters, "filter"), (first.constraints, "constraint"), (first.interfaces, "interface"))
    console = Console(highlight=False)
    console.print(f"[bold]{workload}[/]: {', '.join(counted(*size) for size in sizes)}\n")
    for grid in (_times(outcome.results), _work(outcome.results), _gains(outcome.results)):
        console.print(grid)
    for line in (*_ratios(outcome.results), *_checked(outcome)):
        console.print(line)


def _times(results: list[EngineResult]) -> Grid:
    heads = ("single", "batch", "2 threads", "json.loads", "single / json", "batch / json")
    grid = new_grid("Microseconds per message", "engine", *heads)
    for result in results:
        json = result.us_json_loads
        times = (result.us_single, result.us_batch, result.us_batch_2threads, json)
        _add(grid, result, *times, over(result.us_single, json), over(result.us_batch, json))
    return grid


def _work(results: list[EngineResult]) -> Grid:
    heads = ("build s", "bytes / constraint", "touched", "matched", "touched / matched")
    grid = new_grid("Building, and entries touched and interfaces matched per message", "engine", *heads)
    for result in results:
        work = (result.touched, result.matched, over(result.touched, result.matched))
        _add(grid, result, result.build_s, result.bytes_per_constraint, *work)
    return grid


def _gains(results: list[EngineResult]) -> Grid:
    grid = new_grid("Speed-up of two over one", "engine", "threads", "processes", "threads / processes")
    for result in results:
        if result.speedup_2threads is not None:
            gains = (result.speedup_2threads, result.speedup_2processes)
            _add(grid, result, *gains, over(*gains))
    return grid


def _add(grid: Grid, result: EngineResult, *values: float | None) -> None:
    add_cells(grid, result.engine, *map(number, values))


def _ratios(results: list[EngineResult]) -> Iterator[str]:
    """Yield how the engines compare, each with the next."""
    for one, other in pairwise(result for result in results if result.us_batch):
        ratio = number(over(other.us_batch, one.us_batch))
        yield f"In batch, {one.engine} is {ratio} times as fast as {other.engine}."


def _checked(outcome: ForwardingOutcome) -> Iterator[str]:
    equal = all(result.equal for result in outcome.results)
    said = "All engines and paths give the same answers" if equal else "[bold red]The answers differ[/]"
    yield f"{said} on {counted(outcome.messages, 'message')}."
    right = outcome.expected
    asked = "all" if len(right.answers) == outcome.messages else f"{len(right.answers):,}"
    yield f"The reference was asked about {asked} of them and found {counted(right.deliveries, 'delivery')}."
