"""`cbnet bench spark`: how fast are records matched on Spark, and how much slower is what one writes today?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.bench_numbers import listed, number
from cbnet.cli.grids import add_cells, new_grid
from cbnet.cli.output import AsJson, print_json
from cbnet.cli.spark_options import Conf, pairs

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.cli.progress import Report
    from cbnet.pipeline.match_bench import Given, Speed
    from cbnet.pipeline.match_rivals import Measured
    from cbnet.pipeline.match_speed import Pass

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
    from cbnet.pipeline import match_bench

    sizes = listed("--rival-filters", rival_filters)
    with TemporaryDirectory(prefix="cbnet-bench-") as own, reported_steps() as report:
        given = match_bench.Given(flights, quotes, folder or Path(own), pairs("--conf", conf), seed)
        measured = match_bench.speed(given, records, filters, _MASTERS, report) if records else None
        rivals = _rivals(given, rival_records, sizes, budget, report) if rival_records else []
    if json:
        _print_json(measured, rivals)
    else:
        _show(measured, rivals)


def _rivals(given: Given, records: int, sizes: Sequence[int], budget: float, report: Report) -> list[Measured]:
    from cbnet.pipeline.match_bench import rivals

    return rivals(given, records, sizes, _MASTERS[-1], budget, report)


def _print_json(measured: Speed | None, rivals: Sequence[Measured]) -> None:
    if measured is not None:
        ways = {"without Spark": measured.bare, **measured.on_spark}
        for way, one in ways.items():
            print_json({"way": way, "filters": measured.filters, **asdict(one), "us_kernel": one.us_kernel})
        print_json({"two_processes": measured.two_processes, "checked": measured.checked})
    for rival in rivals:
        print_json({**asdict(rival), "us_record": rival.us_record})


def _show(measured: Speed | None, rivals: Sequence[Measured]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if measured is not None:
        console.print(_speed_grid(measured))
        for line in _speed_lines(measured):
            console.print(line)
        console.print()
    if rivals:
        console.print(_rival_grid(rivals))
        for line in _growth(rivals):
            console.print(line)


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
        add_cells(grid, one.way, f"{one.filters:,}", f"{one.records:,}", number(one.seconds), number(one.us_record))
    return grid


def _growth(rivals: Sequence[Measured]) -> list[str]:
    lines = []
    largest = max(one.filters for one in rivals)
    smallest = min(one.filters for one in rivals)
    by_way = {(one.way, one.filters): one.us_record for one in rivals}
    ours = by_way["cbnet", largest]
    for way in dict.fromkeys(one.way for one in rivals):
        growth = by_way[way, largest] / by_way[way, smallest]
        lines.append(f"{way}: from {smallest:,} to {largest:,} filters a record takes {growth:.1f} times as long")
        if way != "cbnet":
            lines[-1] += f"; cbnet is {by_way[way, largest] / ours:,.0f} times as fast"
    return lines
