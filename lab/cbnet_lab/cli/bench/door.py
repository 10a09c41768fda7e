"""`cbnet bench door`: event streams and WebSockets of one router, one of which never reads."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cbnet.cli.console import add_cells, new_grid, print_json, results_console, step_progress
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError


def door(
    streams: Annotated[
        int, typer.Option("--streams", metavar="N", min=1, max=900, help="Subscribers by server-sent events.")
    ] = 500,
    sockets: Annotated[
        int, typer.Option("--sockets", metavar="N", min=1, max=90, help="WebSockets; one of them never reads.")
    ] = 50,
    messages: Annotated[int, typer.Option("--messages", metavar="M", min=1, help="Messages to publish.")] = 3_000,
    seed: Annotated[int, seed_option("Seed of the messages and predicates.")] = 0,
    json: Json = False,
) -> None:
    """Measure HTTP subscribers of one router under load, one of which never reads; check every delivery.

    The router must close the client that never reads, and answer health checks meanwhile.

    Example: cbnet bench door --streams 500 --sockets 50 --messages 3000
    """
    from cbnet_lab.faults.door.door_result import DoorPlan
    from cbnet_lab.faults.door.door_trial import run_door_trial

    with step_progress() as report:
        row = run_door_trial(DoorPlan(streams, sockets, messages, seed), report).members()
    if json:
        print_json(row)
    else:
        _show(row)
    if row["problems"]:
        raise CbnetError(f"wrong deliveries or answers: {'; '.join(row['problems'])}")


def _show(row: dict[str, Any]) -> None:
    closed = "never" if row["closed_after_s"] is None else f"{row['closed_after_s']:,} s"
    grid = new_grid(f"{row['streams']:,} event streams and {row['sockets']:,} WebSockets of one router", "", "number")
    for name, value in {
        "messages": f"{row['messages']:,}",
        "deliveries": f"{row['right']:,}",
        "deliveries expected": f"{row['expected']:,}",
        "seconds": row["seconds"],
        "processor time of the router per delivery": f"{row['cpu_us_per_delivery']:,} µs",
        "processor time of the router per message": f"{row['cpu_us_per_message']:,} µs",
        "memory of the router before": f"{row['memory_before_mb']:,} MB",
        "memory with all subscribers": f"{row['memory_connected_mb']:,} MB",
        "memory at the peak": f"{row['memory_peak_mb']:,} MB",
        "health checks": f"{row['health_checks']:,}",
        "slowest health check": f"{row['slowest_health_ms']:,} ms",
        "client that never reads closed after": closed,
    }.items():
        add_cells(grid, name, value)
    results_console().print(grid)
