"""`cbnet bench minimal`: how long does it take to find the minimal ones of many sets of tags?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cbnet.cli.console import AsJson, print_json
from cbnet.cli.progress import reported_steps
from cbnet.cli.seeds import seed_option
from cbnet.errors import CbnetError


def minimal(
    sets: Annotated[int, typer.Option("--sets", help="Sets of 1 to 10 tags, 3.2 on average.")] = 10_000_000,
    tags: Annotated[int, typer.Option("--tags", help="Tags, by Zipf's law.")] = 1_000_000,
    sample: Annotated[int, typer.Option("--sample", min=1, help="Sets whose answer is checked.")] = 128,
    seed: Annotated[int, seed_option("Another seed makes other sets.")] = 0,
    json: AsJson = False,
) -> None:
    """Find the sets of tags that contain no other set, on one core, and check a sample of the answer.

    Example: cbnet bench minimal --sets 1000000
    """
    from cbnet.lab.bench.matching.minimal import minimal_sets

    with reported_steps() as report:
        result = minimal_sets(sets, tags, sample, seed, report)
    if json:
        print_json(asdict(result))
    else:
        print(f"sets       {result.sets:,} with {result.tags:,} tags, {result.tags / result.sets:.2f} each")
        print(f"minimal    {result.kept:,}, {result.kept / result.sets:.1%}")
        print(f"time       {result.seconds:.1f} s, {result.seconds / result.sets * 1e6:.2f} µs a set")
        print(f"memory     {result.megabytes:,} MB at most, with the sets themselves")
        print(f"answer     {'right' if result.equal else 'WRONG'} for {result.checked} sets of a sample")
    if not result.equal:
        raise CbnetError("the answer is wrong for sets of the sample: please report this")
