"""`cbnet bench updates`: update rate of a live table, and matching speed meanwhile."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cbnet.cli.console import print_json, step_progress
from cbnet.cli.options import Json, seed_option


def updates(
    filters: Annotated[int, typer.Option("--filters", metavar="F", min=1000, help="Filters in the table.")] = 1_000_000,
    rate: Annotated[int, typer.Option("--rate", metavar="R", min=1, help="Updates per second.")] = 10_000,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", min=1, help="Duration, in seconds.")] = 60.0,
    seed: Annotated[int, seed_option()] = 0,
    json: Json = False,
) -> None:
    """Add and remove filters at a fixed rate while another thread matches, and check sampled states.

    Half of the updates add a filter. Of the removals, half remove filters the table was built with,
    and half filters added since.
    """
    from cbnet_lab.bench.matching.updates import bench_updates

    with step_progress() as report:
        result = bench_updates(filters, rate, seconds, seed, report)
    if json:
        print_json({**asdict(result), "speed_kept": result.us_match_idle / result.us_match_busy})
        raise typer.Exit(0 if result.equal else 1)
    print(f"table         {result.filters:,} filters of the [2002] mix, one per interface")
    per_second = f"{result.updates_per_second:,.0f} per second of {rate:,} requested"
    print(f"updates       {result.updates:,} in {result.seconds:.0f} s, {per_second}")
    print(f"one update    {result.us_update:.1f} µs, including waits for the interpreter")
    print(f"matching      {result.us_match_idle:.1f} µs per message without updates, {result.us_match_busy:.1f} with")
    print(f"speed kept    {result.us_match_idle / result.us_match_busy:.0%}")
    print(f"merges        {result.merges}")
    print(f"answers       {'equal' if result.equal else 'DIFFERENT'} in {result.checks} checks")
    raise typer.Exit(0 if result.equal else 1)
