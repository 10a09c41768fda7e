"""`cbnet bench files`: speed and memory of matching a Parquet file, beside DuckDB."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cbnet.cli.console import print_json, step_progress
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError
from cbnet_lab.cli.bench.output.numbers import checked_seconds


def files(
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="Rows of the file.")] = 10_000_000,
    rules: Annotated[int, typer.Option("--rules", metavar="N", min=1, help="Rules.")] = 10_000,
    sample: Annotated[int, typer.Option("--sample", metavar="N", min=1, help="Rows to check.")] = 200,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", callback=checked_seconds, metavar="S", help="Time for a query of DuckDB, in seconds."
        ),
    ] = 60.0,
    seed: Annotated[int, seed_option()] = 0,
    json: Json = False,
) -> None:
    """Match a generated Parquet file with `cbnet match`, and with DuckDB on as many rules as it finishes in a minute.

    Example: cbnet bench files --rows 1000000
    """
    from cbnet_lab.bench.matching.files import files as run

    with step_progress() as report:
        result = run(rows, rules, sample, seconds, seed, report)
    if json:
        print_json({**asdict(result), "speedup": result.speedup})
    else:
        print(
            f"file       {result.rows:,} rows, {result.file_mb:,.0f} MB; {result.matches_per_row:.2f} matches per row"
        )
        print(f"rules      {result.rules:,}, compiled in {result.compile_s:.2f} s")
        print(f"cbnet      {result.seconds:.1f} s: {result.rows_per_second:,.0f} rows/s; peak {result.peak_mb:,.0f} MB")
        if result.duckdb_rules is None:
            print("DuckDB     not installed; pip install duckdb")
        elif result.speedup is None:
            print("DuckDB     no query ended in time")
        else:
            used = f"{result.duckdb_seconds:.1f} s; peak {result.duckdb_peak_mb:,.0f} MB"
            print(f"DuckDB     {result.duckdb_rules:,} rules in {used}")
            print(f"speed-up   {result.speedup:,.0f} times as many rules per second")
        print(f"answer     {'right' if result.equal else 'WRONG'}; {result.checked} rows checked by the reference")
    if not result.equal:
        raise CbnetError("different answers: please report this")
