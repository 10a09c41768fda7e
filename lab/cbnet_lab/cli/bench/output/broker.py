"""Output of `cbnet bench network --broker`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cbnet.cli.console import add_cells, new_grid, plural, results_console
from cbnet_lab.cli.bench.output.network import speed_cells
from cbnet_lab.cli.bench.output.numbers import number, ratio

if TYPE_CHECKING:
    from cbnet_lab.bench.network.broker_comparison import BrokerComparison, RivalResult
    from cbnet_lab.bench.network.throughput import ThroughputPlan


def missing_broker_note() -> str:
    """Return the note for a machine without the broker."""
    from cbnet_lab.bench.network.broker import INSTALL_COMMAND, NAME

    return f"{NAME} is not installed, so only cbnet is measured: {INSTALL_COMMAND}"


def print_comparison(comparison: BrokerComparison, plan: ThroughputPlan) -> None:
    """Print the configuration and the speed of each rival."""
    from cbnet_lab.bench.network.broker_comparison import BROKER, ROUNDS

    console = results_console()
    console.print("[bold]one router and a broker[/], alternating, all on this machine\n")
    for name, text in _configuration(comparison, plan):
        console.print(f"{name:<9} {text}")
    heads = (
        "filters",
        "messages",
        "messages/s",
        "deliveries/s",
        "p50 ms",
        "p95",
        "p99",
        "server µs",
        f"over {BROKER}",
    )
    grid = new_grid(f"Best of {ROUNDS} rounds", "rival", *heads)
    for result in comparison.results:
        add_cells(grid, *_cells(comparison, result))
    console.print(grid)
    console.print("server µs: CPU time per message of the broker or router.")
    for result in comparison.results:
        rates = ", ".join(number(each.messages_per_s) for each in result.rounds)
        console.print(f"rounds    {result.rival}, {plural(result.bindings, 'filter')}: {rates} messages/s")
    exact = all(each.verdict.is_exact for result in comparison.results for each in result.rounds)
    console.print(f"answers   {'every expected delivery arrived exactly once' if exact else '[bold red]WRONG[/]'}.")


def _configuration(comparison: BrokerComparison, plan: ThroughputPlan) -> Iterator[tuple[str, str]]:
    from cbnet_lab.bench.network.broker_comparison import BROKER

    clients = f"1 publisher, {plan.processes} receivers, each a process with one connection"
    yield "all", f"{plan.payload} bytes of payload, 1 subscriber per message; {clients};"
    yield "", f"no acknowledgements, nothing on disk, at most {plural(plan.window, 'delivery')} in flight"
    if comparison.version is not None:
        yield BROKER, f"{comparison.version}, one node, no plugins; an exchange of type headers, x-match all;"
        yield "", "a queue per subscriber, a binding per filter; consumers without acknowledgement;"
        yield "", "transient messages; AMQP 0-9-1 clients with precomputed frames"
    yield "cbnet", "one router, the pivot engine; cbnet's asyncio client"
    yield "", 'equality: symbol = "s000042.eq"; full: prefixes, substrings, ranges, inequalities, 3 or 4 per filter'


def _cells(comparison: BrokerComparison, result: RivalResult) -> list[str]:
    from cbnet_lab.bench.network.broker_comparison import BROKER

    best = result.best
    rival = next(
        (each for each in comparison.results if (each.rival, each.bindings) == (BROKER, result.bindings)), None
    )
    quotient = None if rival is None else ratio(best.messages_per_s, rival.best.messages_per_s)
    server = sum(best.cpu.servers) / best.order.count * 1e6 if best.cpu.servers else None
    cells = [result.rival, f"{result.bindings:,}", f"{best.order.count:,}", *speed_cells(best), number(server)]
    return [*cells, number(quotient)]
