"""`cbnet bench spark`: how fast are records matched on Spark, and how much slower is what one writes today?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.bench.numbers import listed, number
from cbnet.cli.console import AsJson, print_json
from cbnet.cli.grids import add_cells, new_grid
from cbnet.cli.pipeline.spark_options import Conf, pairs

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.lab.bench.spark.match_bench import Speed
    from cbnet.lab.bench.spark.match_rivals import Measured
    from cbnet.lab.bench.spark.match_speed import Pass

_MASTERS = ("local[1]", "local[2]")


def spark(
    flights: Annotated[str | None, typer.Option("--flights", help="Flights, in the preset's format.")] = None,
    quotes: Annotated[str | None, typer.Option("--quotes", help="Stock quotes, in the preset's format.")] = None,
    records: Annotated[
        int, typer.Option("--records", min=0, help="Records, repeated from those files; 0: rivals only.")
    ] = 1_000_000,
    filters: Annotated[int, typer.Option("--filters", min=1000, help="Filters, drawn from the records.")] = 1_000_000,
    rival_records: Annotated[int, typer.Option("--rival-records", help="Records for the rivals; 0: none.")] = 200_000,
    rival_filters: Annotated[str, typer.Option("--rival-filters", help="Filters for the rivals.")] = "1000,10000",
    budget: Annotated[
        float, typer.Option("--budget", help="Seconds of each rival; it then gets fewer records.")
    ] = 60.0,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where inputs are kept, for another run.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Another seed draws other filters.")] = 0,
    conf: Conf = None,
    json: AsJson = False,
) -> None:
    """Match flights and stock quotes on Spark with one core and with two, without Spark, and by rivals.

    Example: cbnet bench spark --flights flights.csv.gz --quotes stockquotes.txt.gz
    """
    from cbnet.cli.progress import reported_steps
    from cbnet.lab.bench.spark import match_bench

    sizes = listed("--rival-filters", rival_filters)
    with TemporaryDirectory(prefix="cbnet-bench-") as own, reported_steps() as report:
        given = match_bench.Given(flights, quotes, folder or Path(own), pairs("--conf", conf), seed)
        if records:
            measured = match_bench.speed(given, records, filters, _MASTERS, report)
            _print_speed(measured) if json else _show_speed(measured)
        if rival_records:
            rivals = match_bench.rivals(given, rival_records, sizes, _MASTERS[-1], budget, report)
            _print_rivals(rivals) if json else _show_rivals(rivals)


def _print_speed(measured: Speed) -> None:
    for way, one in {"without Spark": measured.bare, **measured.on_spark}.items():
        print_json({"way": way, "filters": measured.filters, **asdict(one), "us_kernel": one.us_kernel})
    print_json({"two_processes": measured.two_processes, "checked": measured.checked})


def _print_rivals(rivals: Sequence[Measured]) -> None:
    for rival in rivals:
        print_json({**asdict(rival), "us_record": None if rival.failure else rival.us_record})


def _show_speed(measured: Speed) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_speed_grid(measured))
    for line in _speed_lines(measured):
        console.print(line)
    console.print()


def _show_rivals(rivals: Sequence[Measured]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_rival_grid(rivals))
    for line in _growth(rivals):
        console.print(line, markup=False)


def _speed_grid(measured: Speed) -> Grid:
    bare = measured.bare
    matches = f"{bare.matches / bare.records:.1f} matches each"
    title = f"{bare.records:,} records, {measured.filters:,} filters, {matches}"
    heads = ("records/s", "seconds", "CPU s Java", "CPU s Python", "records/CPU s", "kernel µs")
    grid = new_grid(title, "", *heads)
    for way, one in {"without Spark": bare, **measured.on_spark}.items():
        add_cells(grid, way, *map(number, _cells(one)))
    return grid


def _cells(one: Pass) -> tuple[float, ...]:
    return one.per_second, one.seconds, one.java_s, one.python_s, one.per_cpu_second, one.us_kernel


def _speed_lines(measured: Speed) -> list[str]:
    first, last = measured.on_spark[_MASTERS[0]], measured.on_spark[_MASTERS[-1]]
    share = first.per_second / measured.bare.per_second
    cpu = first.per_cpu_second / measured.bare.per_cpu_second
    return [
        f"On one core Spark keeps {share:.0%} of the bare speed; {cpu:.0%} by processor time, Java's included.",
        f"Two cores are {last.per_second / first.per_second:.2f} times as fast as one; two processes that share"
        f" nothing, {measured.two_processes:.2f}.",
        f"The kernel's own time for a record is {last.us_kernel / first.us_kernel - 1:+.0%} on two cores.",
        f"{measured.checked:,} matches were compared one by one, and are equal.",
    ]


def _rival_grid(rivals: Sequence[Measured]) -> Grid:
    grid = new_grid("Beside what one writes today, same answers", "way", "filters", "records", "seconds", "µs/record")
    for one in rivals:
        cells = (
            ("-", "-", "failed") if one.failure else (f"{one.records:,}", number(one.seconds), number(one.us_record))
        )
        add_cells(grid, one.way, f"{one.filters:,}", *cells)
    return grid


def _growth(rivals: Sequence[Measured]) -> list[str]:
    lines = [f"{one.way} failed with {one.filters:,} filters: {one.failure}" for one in rivals if one.failure]
    by_way: dict[str, list[Measured]] = {}
    for one in rivals:
        if not one.failure:
            by_way.setdefault(one.way, []).append(one)
    ours = {one.filters: one.us_record for one in by_way["cbnet"]}
    for way, done in by_way.items():
        first, last = min(done, key=lambda one: one.filters), max(done, key=lambda one: one.filters)
        said = []
        if last.filters > first.filters:
            times = last.us_record / first.us_record
            said.append(f"from {first.filters:,} to {last.filters:,} filters a record takes {times:.1f} times as long")
        if way != "cbnet":
            said.append(f"with {last.filters:,} cbnet is {last.us_record / ours[last.filters]:,.0f} times as fast")
        if said:
            lines.append(f"{way}: {'; '.join(said)}")
    return lines
