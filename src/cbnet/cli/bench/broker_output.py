"""Bench broker output: how is a comparison with a broker shown to people, with what each was told?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cbnet.cli.bench.network_output import speed_cells
from cbnet.cli.bench.numbers import number, over
from cbnet.cli.console import counted
from cbnet.cli.grids import add_cells, new_grid

if TYPE_CHECKING:
    from cbnet.lab.bench.network.broker_comparison import Comparison, RivalResult
    from cbnet.lab.bench.network.throughput import NetworkPlan


def remark() -> str:
    """Return what to say where no broker is installed."""
    from cbnet.lab.bench.network.broker import HOW_TO_GET_IT, NAME

    return f"{NAME} is not installed here, so only cbnet is measured: {HOW_TO_GET_IT}"


def print_comparison(comparison: Comparison, plan: NetworkPlan) -> None:
    """Print what each rival was told, and how fast it was."""
    from rich.console import Console

    from cbnet.lab.bench.network.broker_comparison import BROKER, ROUNDS

    console = Console(highlight=False)
    console.print("[bold]one router and a broker[/], in turns, all on this machine\n")
    for name, said in _told(comparison, plan):
        console.print(f"{name:<9} {said}")
    heads = ("filters", "messages", "messages/s", "deliveries/s", "p50 ms", "p95", "p99", "server µs", f"over {BROKER}")
    grid = new_grid(f"The best of {ROUNDS} rounds", "rival", *heads)
    for result in comparison.results:
        add_cells(grid, *_cells(comparison, result))
    console.print(grid)
    console.print("server µs: time of the processors for a message, in the broker or the router.")
    for result in comparison.results:
        rates = ", ".join(number(each.messages_per_s) for each in result.rounds)
        console.print(f"rounds    {result.rival}, {counted(result.bindings, 'filter')}: {rates} messages/s")
    right = all(each.verdict.is_exact for result in comparison.results for each in result.rounds)
    console.print(f"answers   {'every delivery as it must be, each once' if right else '[bold red]WRONG[/]'}.")


def _told(comparison: Comparison, plan: NetworkPlan) -> Iterator[tuple[str, str]]:
    from cbnet.lab.bench.network.broker_comparison import BROKER

    clients = f"1 publishes, {plan.processes} receive, each a process with one connection"
    yield "all", f"{plan.payload} bytes of payload, every message goes to 1 subscriber; {clients};"
    yield "", f"no acknowledgements, nothing on disk, at most {counted(plan.window, 'delivery')} under way"
    if comparison.version is not None:
        yield BROKER, f"{comparison.version}, one node, no plugins; an exchange of type headers, x-match all;"
        yield "", "a queue for each subscriber, a binding for each filter; consumers without acknowledgement;"
        yield "", "transient messages; clients that speak AMQP 0-9-1 with frames written in advance"
    yield "cbnet", f"one router, scheme {plan.scheme}, the pivot engine; the asyncio client of cbnet"
    yield "", 'equality: symbol = "s000042.eq"; full: prefixes, substrings, ranges, inequalities, 3 or 4 to a filter'


def _cells(comparison: Comparison, result: RivalResult) -> list[str]:
    from cbnet.lab.bench.network.broker_comparison import BROKER

    best = result.best
    rival = next(
        (each for each in comparison.results if (each.rival, each.bindings) == (BROKER, result.bindings)), None
    )
    ratio = None if rival is None else over(best.messages_per_s, rival.best.messages_per_s)
    server = sum(best.cpu.servers) / best.order.count * 1e6 if best.cpu.servers else None
    said = [result.rival, f"{result.bindings:,}", f"{best.order.count:,}", *speed_cells(best), number(server)]
    return [*said, number(ratio)]
