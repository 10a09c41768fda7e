"""Bench network output: how is what was measured of a network shown to people?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cbnet.cli.bench.numbers import number
from cbnet.cli.console import counted
from cbnet.cli.grids import add_cells, new_grid

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.lab.bench.network.run_result import RunResult
    from cbnet.lab.bench.network.throughput import NetworkOutcome

_DASH = "–"


def print_network(outcomes: Sequence[NetworkOutcome]) -> None:
    """Print the runs of some networks: speed, latency, where the time went, and whether all was right."""
    from rich.console import Console

    console = Console(highlight=False)
    plan = outcomes[0].plan
    said = f"{counted(plan.subscribers, 'subscriber')} with {counted(plan.filters, 'filter')} each ({plan.predicates})"
    console.print(f"[bold]network, {plan.scheme}, seed {plan.seed}[/]: {said}, {plan.payload} bytes of payload")
    console.print(
        f"one process publishes, {plan.processes} receive; at full speed at most "
        f"{counted(plan.window, 'delivery')} under way\n"
    )
    for grid in (_speed(outcomes), _time(outcomes)):
        console.print(grid)
    for outcome in outcomes:
        for line in _checked(outcome):
            console.print(line)


def _speed(outcomes: Sequence[NetworkOutcome]) -> Grid:
    heads = ("run", "messages", "messages/s", "deliveries/s", "p50 ms", "p95", "p99")
    grid = new_grid("Speed, and time from publish to delivery", "topology", *heads)
    for outcome in outcomes:
        for name, run in outcome.runs:
            add_cells(grid, outcome.plan.topology, name, f"{run.order.count:,}", *speed_cells(run))
    return grid


def speed_cells(run: RunResult) -> list[str]:
    """Return messages and deliveries in a second, and the latencies."""
    times = (None, None, None) if run.latency is None else (run.latency.p50, run.latency.p95, run.latency.p99)
    return [number(run.messages_per_s), number(run.deliveries_per_s), *map(number, times)]


def _time(outcomes: Sequence[NetworkOutcome]) -> Grid:
    heads = ("run", "publisher", "receivers", "routers", "busiest router", "µs / message", "µs / match", "matching")
    grid = new_grid("Seconds of the processors, and matching's share of the routers' time", "topology", *heads)
    for outcome in outcomes:
        for name, run in outcome.runs:
            add_cells(grid, outcome.plan.topology, name, *_time_cells(run))
    return grid


def _time_cells(run: RunResult) -> list[str]:
    cpu, matching = run.cpu, run.matching
    if not cpu.servers:  # a system that does not tell
        return [_DASH] * 7
    routers = sum(cpu.servers)
    matched = [_DASH, _DASH]
    if matching is not None:
        share = matching.share(cpu)
        told = "–" if share is None else f"{share:.0%}"
        matched = [number(matching.seconds / max(1, matching.matches) * 1e6), told]
    seconds = (cpu.publisher, sum(cpu.receivers), routers, max(cpu.servers))
    return [*(f"{each:.2f}" for each in seconds), number(routers / run.order.count * 1e6), *matched]


def _checked(outcome: NetworkOutcome) -> Iterator[str]:
    whom = "the reference" if outcome.asked == outcome.contents else "a table that the reference agrees with"
    for name, run in outcome.runs:
        said = run.verdict
        what = f"{outcome.plan.topology}, {name}: {said.right:,} of {counted(said.expected, 'delivery')}"
        if said.is_exact:
            yield f"{what}, each once and no other, as {whom} says."
        else:
            wrong = f"{said.missing:,} missing, {said.twice:,} twice, {said.spurious:,} to who did not ask"
            yield f"[bold red]{what}: {wrong}[/]; dropped: {run.dropped or 'nothing'}."
        if run.changes or run.reconnects:
            told = f"{counted(run.changes, 'record')} changed, {counted(run.reconnects, 'client')} connected again"
            yield f"  Meanwhile {told}: somebody was taken for dead, and what was under way may be missed."
        if run.order.rate is not None and run.late > 0.1:
            yield f"  The publisher was up to {run.late:.1f} s behind its rate: the machine is busy."
