"""`cbnet bench clients`: processor time per message of a Python client."""

from __future__ import annotations

from typing import Annotated

import typer

from cbnet.cli.console import print_json, step_progress
from cbnet.cli.options import Json


def clients(
    messages: Annotated[
        int, typer.Option("--messages", metavar="M", min=1, help="Messages in a round.")
    ] = 200_000,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="Rounds; the best one counts.")] = 3,
    json: Json = False,
) -> None:  # fmt: skip
    """Measure a client that publishes or receives, alone against a peer with encoded frames; check the messages.

    Example: cbnet bench clients --messages 1000000
    """
    from cbnet_lab.bench.client.client_speed import measure_clients

    if not json:
        print(f"{'':30}{'µs of processor time':>24}{'messages per processor second':>34}")
    with step_progress() as report:
        for speed in measure_clients(messages, rounds, report):
            if json:
                print_json(
                    {
                        "way": speed.way,
                        "client": speed.client,
                        "messages": speed.messages,
                        "cpu_us_per_message": round(speed.cpu_us, 3),
                        "rounds_cpu_us_per_message": [round(each, 3) for each in speed.rounds_cpu_us],
                    }
                )
            else:
                print(f"{speed.way + ', ' + speed.client:30}{speed.cpu_us:24.2f}{1e6 / speed.cpu_us:34,.0f}")
