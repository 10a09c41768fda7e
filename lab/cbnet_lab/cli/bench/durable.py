"""`cbnet bench durable`: acknowledged publishing beside plain publishing and JetStream."""

from __future__ import annotations

import shutil
from typing import Annotated

import typer

from cbnet.cli.console import add_cells, new_grid, print_json, print_note, results_console, step_progress
from cbnet.cli.options import Json
from cbnet.errors import CbnetError


def durable(
    messages: Annotated[
        int, typer.Option("--messages", metavar="M", min=1, help="Messages of each round, many in flight.")
    ] = 20_000,
    window: Annotated[
        int, typer.Option("--window", metavar="W", min=1, max=1_000, help="Messages without an answer, at most.")
    ] = 500,
    payload: Annotated[
        int, typer.Option("--payload-bytes", metavar="B", min=8, help="Payload of each message, in bytes.")
    ] = 100,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="Rounds; the best one counts.")] = 3,
    probes: Annotated[
        int, typer.Option("--probes", metavar="N", min=1, help="Messages of each round that are sent one at a time.")
    ] = 200,
    json: Json = False,
) -> None:
    """Measure acknowledged publishing with one router and three, and JetStream beside them; check what is stored.

    Example: cbnet bench durable --messages 20000 --window 500
    """
    from cbnet_lab.bench.acknowledged.comparison import AcknowledgedPlan, compare_acknowledged
    from cbnet_lab.bench.acknowledged.jetstream import PROGRAM, JetStreamServer

    is_installed = shutil.which(PROGRAM) is not None
    if not is_installed:
        print_note(f"{PROGRAM} is not installed, so it is not measured: apt-get install {PROGRAM}")
    with step_progress() as report:
        rivals = compare_acknowledged(AcknowledgedPlan(messages, window, payload, rounds, probes), report)
    rows = [rival.members() for rival in rivals]
    if json:
        for row in rows:
            print_json(row)
    else:
        if is_installed:
            results_console().print(f"{JetStreamServer.version()}: answers before it syncs its file")
        heads = ("answered when", "messages/s", "CPU µs/message", "p50 ms", "p99 ms", f"p50 ms of {window}")
        grid = new_grid(f"{messages:,} messages of {payload:,} bytes, best of {rounds} rounds", "server", *heads)
        for row in rows:
            kind = "stored" if row["is_acknowledged"] else "delivered"
            numbers = (f"{row['messages_per_s']:,}", row["cpu_us_per_message"], row["p50_ms"], row["p99_ms"])
            add_cells(grid, row["name"], kind, *numbers, row["loaded_p50_ms"])
        results_console().print(grid)
    wrong = [f"{row['name']}: {row['problem']}" for row in rows if row["problem"]]
    if wrong:
        raise CbnetError(f"wrong answers: {'; '.join(wrong)}")
