"""`cbnet bench events`: speed of EventBridge rules over nested events."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cbnet.cli.console import print_json, step_progress
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError
from cbnet_lab.cli.bench.output.numbers import MeasurementSeconds


def events(
    rules: Annotated[int, typer.Option("--rules", metavar="N", min=1, help="EventBridge patterns.")] = 10_000,
    count: Annotated[int, typer.Option("--events", metavar="N", min=1, help="Nested events.")] = 20_000,
    sample: Annotated[int, typer.Option("--sample", metavar="N", min=1, help="Events to check.")] = 100,
    seconds: MeasurementSeconds = 0.3,
    seed: Annotated[int, seed_option()] = 0,
    json: Json = False,
) -> None:
    """Match generated webhooks, read from JSON, against generated EventBridge patterns, and check a sample.

    Example: cbnet bench events --rules 1000
    """
    from cbnet_lab.bench.matching.events import events as run

    with step_progress() as report:
        result = run(rules, count, sample, seed, seconds, report)
    if json:
        print_json(asdict(result))
    else:
        print(f"rules      {result.rules:,}: {result.filters:,} filters, {result.conditions:,} of them with conditions")
        print(f"events     {result.events:,} of {result.bytes_per_event:.0f} bytes, {result.matched:.2f} matches each")
        print(f"compile    {result.build_s:.1f} s")
        print(f"JSON Lines {result.us_lines:.1f} µs per event, JSON included")
        print(f"dicts      {result.us_match:.1f} µs; json.loads alone {result.us_json_loads:.1f} µs")
        print(f"reference  {result.us_reference:,.0f} µs: {result.us_reference / result.us_match:,.0f} times as long")
        print(f"answer     {'right' if result.equal else 'WRONG'}; {result.checked} events checked by the reference")
    if not result.equal:
        raise CbnetError("different answers: please report this")
