"""`cbnet bench updates`: how fast can a table change, and how fast is it matched meanwhile?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cbnet.cli.console import AsJson, print_json
from cbnet.cli.progress import reported_steps
from cbnet.cli.seeds import seed_option


def updates(
    filters: Annotated[int, typer.Option("--filters", min=1000, help="Filters in the table.")] = 1_000_000,
    rate: Annotated[int, typer.Option("--rate", min=1, help="Updates a second.")] = 10_000,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="How long to update.")] = 60.0,
    seed: Annotated[int, seed_option("Of the workload.")] = 0,
    json: AsJson = False,
) -> None:
    """Add and remove single filters at a rate, while another thread matches; check sampled states.

    Half of the updates add a filter. Of the removals, half take away what the table was built with
    and half what was added since.
    """
    from cbnet.lab.bench.matching.updates import bench_updates

    with reported_steps() as report:
        result = bench_updates(filters, rate, seconds, seed, report)
    if json:
        print_json({**asdict(result), "speed_kept": result.us_match_idle / result.us_match_busy})
        raise typer.Exit(0 if result.equal else 1)
    print(f"table         {result.filters:,} filters of the [2002] mix, one per interface")
    per_second = f"{result.updates_per_second:,.0f} a second of {rate:,} asked for"
    print(f"updates       {result.updates:,} in {result.seconds:.0f} s, {per_second}")
    print(f"one update    {result.us_update:.1f} µs, waiting for the interpreter included")
    print(f"matching      {result.us_match_idle:.1f} µs a message without updates, {result.us_match_busy:.1f} with")
    print(f"speed kept    {result.us_match_idle / result.us_match_busy:.0%}")
    print(f"merges        {result.merges}")
    print(f"answers       {'equal' if result.equal else 'DIFFERENT'} in {result.checks} checks")
    raise typer.Exit(0 if result.equal else 1)
