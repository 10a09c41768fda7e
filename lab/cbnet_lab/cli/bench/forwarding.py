"""`cbnet bench forwarding`: speed of each matching engine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import add_cells, new_grid, plural, print_json, results_console
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError
from cbnet_lab.cli.bench.output.numbers import ONE_EACH, MeasurementSeconds, number, parse_interface_count, ratio

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet_lab.bench.engine_result import EngineResult
    from cbnet_lab.bench.matching.forwarding import ForwardingOutcome


def forwarding(
    filters: Annotated[int, typer.Option("--filters", metavar="F", help="Filters in the table.")] = 10_000,
    interfaces: Annotated[
        str, typer.Option("--interfaces", metavar="I", help="Interfaces that share the filters; F for one per filter.")
    ] = ONE_EACH,
    messages: Annotated[int, typer.Option("--messages", metavar="M", help="Messages to match.")] = 5_000,
    mix: Annotated[str, typer.Option("--mix", metavar="NAME", help="Workload: 2002, 2001 or equality.")] = "2002",
    names: Annotated[
        int | None, typer.Option("--names", metavar="A", help="Attribute names.", show_default="as in the paper")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Parameter of the workload by its name in the paper, such as f_h=100; repeatable.",
            show_default=False,
        ),
    ] = None,
    conditions: Annotated[
        float, typer.Option("--conditions", metavar="S", min=0, max=1, help="Share of filters with a condition.")
    ] = 0.0,
    seed: Annotated[int, seed_option()] = 0,
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", metavar="NAME", help="Engine to measure; repeatable.", show_default="all"),
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="R", min=0, help="Rounds of selectivity of the counting engine.")
    ] = 10,
    short_circuit: Annotated[
        bool,
        typer.Option(
            "--short-circuit/--no-short-circuit",
            help="Whether the counting engine skips filters of matched interfaces.",
        ),
    ] = True,
    seconds: MeasurementSeconds = 0.3,
    json: Json = False,
) -> None:
    """Match generated messages against a generated table with every engine, and compare the engines.

    Example: cbnet bench forwarding --filters 100000 --interfaces 500
    """
    from cbnet.cli.console import step_progress
    from cbnet.cli.predicates.engine_names import checked_engines
    from cbnet.matching.engines.registry import CountingOptions
    from cbnet_lab.bench.bench_input import parameters_of
    from cbnet_lab.bench.matching.forwarding import forwarding as run

    engines = checked_engines(engine)
    count = parse_interface_count(interfaces)
    parameters = parameters_of(
        mix, filters=filters, interfaces=count, messages=messages, names=names, settings=settings or (), seed=seed
    )
    with step_progress() as report:
        outcome = run(parameters, engines, seconds, report, conditions, CountingOptions(rounds, short_circuit))
    if json:
        for result in outcome.results:
            print_json(result.members())
    else:
        _show(outcome, f"{mix} mix, seed {seed}")
    wrong = [f"{result.engine} and {other}" for result in outcome.results for other in result.differences]
    if wrong:
        raise CbnetError(f"different answers from {'; '.join(wrong)}: please report this")


def _show(outcome: ForwardingOutcome, workload: str) -> None:

    first = outcome.results[0]
    sizes = ((first.filters, "filter"), (first.constraints, "constraint"), (first.interfaces, "interface"))
    console = results_console()
    console.print(f"[bold]{workload}[/]: {', '.join(plural(*size) for size in sizes)}\n")
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
        _add(grid, result, *times, ratio(result.us_single, json), ratio(result.us_batch, json))
    return grid


def _work(results: list[EngineResult]) -> Grid:
    heads = ("build s", "bytes / constraint", "touched", "matched", "touched / matched")
    grid = new_grid("Building; entries touched and interfaces matched per message", "engine", *heads)
    for result in results:
        work = (result.touched, result.matched, ratio(result.touched, result.matched))
        _add(grid, result, result.build_s, result.bytes_per_constraint, *work)
    return grid


def _gains(results: list[EngineResult]) -> Grid:
    grid = new_grid("Speed-up with two workers", "engine", "threads", "processes", "threads / processes")
    for result in results:
        if result.speedup_2threads is not None:
            gains = (result.speedup_2threads, result.speedup_2processes)
            _add(grid, result, *gains, ratio(*gains))
    return grid


def _add(grid: Grid, result: EngineResult, *values: float | None) -> None:
    add_cells(grid, result.engine, *map(number, values))


def _ratios(results: list[EngineResult]) -> Iterator[str]:
    """Yield the speed of each engine relative to the next."""
    for one, other in pairwise(result for result in results if result.us_batch):
        times = number(ratio(other.us_batch, one.us_batch))
        yield f"In batch, {one.engine} is {times} times as fast as {other.engine}."


def _checked(outcome: ForwardingOutcome) -> Iterator[str]:
    equal = all(result.equal for result in outcome.results)
    answers = "All engines and call paths give the same answers" if equal else "[bold red]The answers differ[/]"
    yield f"{answers} on {plural(outcome.messages, 'message')}."
    expected = outcome.expected
    sample = "all" if len(expected.answers) == outcome.messages else f"{len(expected.answers):,}"
    yield f"The reference matched {sample} of them: {plural(expected.deliveries, 'delivery')}."
