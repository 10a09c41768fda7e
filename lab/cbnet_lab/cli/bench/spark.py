"""`cbnet bench spark`: speed of matching on Spark, compared with plain SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import add_cells, new_grid, print_json, results_console
from cbnet.cli.options import Json, seed_option
from cbnet.cli.pipeline.spark_options import Conf, settings
from cbnet_lab.cli.bench.output.numbers import number, parse_numbers

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet_lab.bench.spark.match_bench import Speed
    from cbnet_lab.bench.spark.match_rivals import RivalTime
    from cbnet_lab.bench.spark.match_speed import Pass

_MASTERS = ("local[1]", "local[2]")


def spark(
    flights: Annotated[
        str | None, typer.Option("--flights", metavar="FILE", help="Flights, in the format of the preset.")
    ] = None,
    quotes: Annotated[
        str | None, typer.Option("--quotes", metavar="FILE", help="Stock quotes, in the format of the preset.")
    ] = None,
    records: Annotated[
        int, typer.Option("--records", metavar="N", min=0, help="Records, repeated from the files; 0 for rivals only.")
    ] = 1_000_000,
    filters: Annotated[
        int, typer.Option("--filters", metavar="F", min=1000, help="Filters drawn from the records.")
    ] = 1_000_000,
    rival_records: Annotated[
        int, typer.Option("--rival-records", metavar="N", help="Records for the rivals; 0 for no rivals.")
    ] = 200_000,
    rival_filters: Annotated[
        str, typer.Option("--rival-filters", metavar="F,...", help="Numbers of filters for the rivals.")
    ] = "1000,10000",
    budget: Annotated[
        float,
        typer.Option(
            "--budget", metavar="S", help="Time limit of each rival, in seconds; slow rivals get fewer records."
        ),
    ] = 60.0,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="FOLDER", help="Folder to keep the inputs in, for later runs.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, seed_option()] = 0,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Match flights and stock quotes on Spark with one and two cores, without Spark, and with rivals.

    Example: cbnet bench spark --flights flights.csv.gz --quotes stockquotes.txt.gz
    """
    from cbnet.cli.console import step_progress
    from cbnet_lab.bench.spark import match_bench

    sizes = parse_numbers("--rival-filters", rival_filters)
    with TemporaryDirectory(prefix="cbnet-bench-") as own, step_progress() as report:
        inputs = match_bench.SparkBenchInput(flights, quotes, folder or Path(own), settings(conf), seed)
        if records:
            measured = match_bench.speed(inputs, records, filters, _MASTERS, report)
            _print_speed(measured) if json else _show_speed(measured)
        if rival_records:
            rivals = match_bench.rivals(inputs, rival_records, sizes, _MASTERS[-1], budget, report)
            _print_rivals(rivals) if json else _show_rivals(rivals)


def _print_speed(measured: Speed) -> None:
    for way, one in {"without Spark": measured.bare, **measured.on_spark}.items():
        print_json({"way": way, "filters": measured.filters, **asdict(one), "us_kernel": one.us_kernel})
    print_json({"two_processes": measured.two_processes, "checked": measured.checked})


def _print_rivals(rivals: Sequence[RivalTime]) -> None:
    for rival in rivals:
        print_json({**asdict(rival), "us_record": None if rival.failure else rival.us_record})


def _show_speed(measured: Speed) -> None:

    console = results_console()
    console.print(_speed_grid(measured))
    for line in _speed_lines(measured):
        console.print(line)
    console.print()


def _show_rivals(rivals: Sequence[RivalTime]) -> None:

    console = results_console()
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
        f"On one core Spark reaches {share:.0%} of the speed without it; {cpu:.0%} by CPU time, Java included.",
        f"Two cores are {last.per_second / first.per_second:.2f} times as fast as one; two independent processes"
        f" {measured.two_processes:.2f} times.",
        f"Kernel time per record on two cores: {last.us_kernel / first.us_kernel - 1:+.0%}.",
        f"{measured.checked:,} matches were compared one by one and are equal.",
    ]


def _rival_grid(rivals: Sequence[RivalTime]) -> Grid:
    grid = new_grid(
        "Compared with plain Spark SQL, same answers", "method", "filters", "records", "seconds", "µs/record"
    )
    for one in rivals:
        cells = (
            ("-", "-", "failed") if one.failure else (f"{one.records:,}", number(one.seconds), number(one.us_record))
        )
        add_cells(grid, one.method, f"{one.filters:,}", *cells)
    return grid


def _growth(rivals: Sequence[RivalTime]) -> list[str]:
    lines = [f"{one.method} failed with {one.filters:,} filters: {one.failure}" for one in rivals if one.failure]
    by_method: dict[str, list[RivalTime]] = {}
    for one in rivals:
        if not one.failure:
            by_method.setdefault(one.method, []).append(one)
    ours = {one.filters: one.us_record for one in by_method["cbnet"]}
    for way, done in by_method.items():
        first, last = min(done, key=lambda one: one.filters), max(done, key=lambda one: one.filters)
        facts = []
        if last.filters > first.filters:
            times = last.us_record / first.us_record
            facts.append(f"from {first.filters:,} to {last.filters:,} filters a record takes {times:.1f} times as long")
        if way != "cbnet":
            facts.append(f"with {last.filters:,} cbnet is {last.us_record / ours[last.filters]:,.0f} times as fast")
        if facts:
            lines.append(f"{way}: {'; '.join(facts)}")
    return lines
