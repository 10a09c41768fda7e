"""`cbnet bench minimal`: time to find the minimal sets of many tag sets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cbnet.cli.console import print_json, step_progress
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError


def minimal(
    sets: Annotated[
        int, typer.Option("--sets", metavar="N", help="Sets of 1 to 10 tags, 3.2 on average.")
    ] = 10_000_000,
    tags: Annotated[int, typer.Option("--tags", metavar="T", help="Distinct tags, Zipf-distributed.")] = 1_000_000,
    sample: Annotated[int, typer.Option("--sample", metavar="N", min=1, help="Sets to check.")] = 128,
    seed: Annotated[int, seed_option()] = 0,
    json: Json = False,
) -> None:
    """Find the tag sets that contain no other set, on one core, and check a sample of the answer.

    Example: cbnet bench minimal --sets 1000000
    """
    from cbnet_lab.bench.matching.minimal import minimal_sets

    with step_progress() as report:
        result = minimal_sets(sets, tags, sample, seed, report)
    if json:
        print_json(asdict(result))
    else:
        print(f"sets       {result.sets:,} with {result.tags:,} tags, {result.tags / result.sets:.2f} each")
        print(f"minimal    {result.kept:,}, {result.kept / result.sets:.1%}")
        print(f"time       {result.seconds:.1f} s, {result.seconds / result.sets * 1e6:.2f} µs per set")
        print(f"memory     {result.megabytes:,} MB peak, including the sets")
        print(f"answer     {'right' if result.equal else 'WRONG'} for a sample of {result.checked} sets")
    if not result.equal:
        raise CbnetError("wrong answer for sets of the sample: please report this")
