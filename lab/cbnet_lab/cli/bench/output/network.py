"""Output of `cbnet bench network`: speed, latency and CPU time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cbnet.cli.console import add_cells, new_grid, plural, results_console
from cbnet_lab.cli.bench.output.numbers import number

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet_lab.bench.network.run_result import RunResult
    from cbnet_lab.bench.network.throughput import ThroughputOutcome

_DASH = "–"


def print_network(outcomes: Sequence[ThroughputOutcome]) -> None:
    """Print the speed, latency, CPU time and correctness of each run."""
    console = results_console()
    plan = outcomes[0].plan
    workload = (
        f"{plural(plan.subscribers, 'subscriber')} with {plural(plan.filters, 'filter')} each ({plan.predicates})"
    )
    console.print(
        f"[bold]network, trees {plan.routing}, seed {plan.seed}[/]: {workload}, {plan.payload} bytes of payload"
    )
    console.print(
        f"1 publishing process, {plan.processes} receiving; at full speed at most "
        f"{plural(plan.window, 'delivery')} in flight\n"
    )
    for grid in (_speed(outcomes), _time(outcomes)):
        console.print(grid)
    for outcome in outcomes:
        for line in _checked(outcome):
            console.print(line)


def _speed(outcomes: Sequence[ThroughputOutcome]) -> Grid:
    heads = ("run", "messages", "messages/s", "deliveries/s", "p50 ms", "p95", "p99", "max")
    grid = new_grid("Speed, and latency from publish to delivery", "topology", *heads)
    for outcome in outcomes:
        for name, run in outcome.runs:
            add_cells(grid, outcome.plan.topology, name, f"{run.order.count:,}", *speed_cells(run))
    return grid


def speed_cells(run: RunResult) -> list[str]:
    """Return the messages and deliveries per second, and the latencies."""
    latency = run.latency
    times = (None,) * 4 if latency is None else (latency.p50, latency.p95, latency.p99, latency.max)
    return [number(run.messages_per_s), number(run.deliveries_per_s), *map(number, times)]


def _time(outcomes: Sequence[ThroughputOutcome]) -> Grid:
    heads = ("run", "publisher", "receivers", "routers", "busiest router", "µs / message", "µs / match", "matching")
    grid = new_grid("CPU seconds, and the share of matching in the routers' time", "topology", *heads)
    for outcome in outcomes:
        for name, run in outcome.runs:
            add_cells(grid, outcome.plan.topology, name, *_time_cells(run))
    return grid


def _time_cells(run: RunResult) -> list[str]:
    cpu, matching = run.cpu, run.matching
    if not cpu.servers:  # not available on this system
        return [_DASH] * 7
    routers = sum(cpu.servers)
    matched = [_DASH, _DASH]
    if matching is not None:
        share = matching.share(cpu)
        percent = "–" if share is None else f"{share:.0%}"
        matched = [number(matching.seconds / max(1, matching.matches) * 1e6), percent]
    seconds = (cpu.publisher, sum(cpu.receivers), routers, max(cpu.servers))
    return [*(f"{each:.2f}" for each in seconds), number(routers / run.order.count * 1e6), *matched]


def _checked(outcome: ThroughputOutcome) -> Iterator[str]:
    oracle = "the reference" if outcome.checked == outcome.contents else "a table checked against the reference"
    for name, run in outcome.runs:
        verdict = run.verdict
        summary = f"{outcome.plan.topology}, {name}: {verdict.right:,} of {plural(verdict.expected, 'delivery')}"
        if verdict.is_exact:
            yield f"{summary}, each exactly once, as in {oracle}."
        else:
            wrong = f"{verdict.missing:,} missing, {verdict.twice:,} duplicate, {verdict.spurious:,} spurious"
            yield f"[bold red]{summary}: {wrong}[/]; dropped: {run.dropped or 'nothing'}."
        if run.changes or run.reconnects:
            changes = f"{plural(run.changes, 'record')} changed, {plural(run.reconnects, 'client')} reconnected"
            yield f"  Meanwhile {changes}: a peer timed out, and messages in flight may be missed."
        if run.order.rate is not None and run.late > 0.1:
            yield f"  Publisher lag: up to {run.late:.1f} s; the machine is busy."
