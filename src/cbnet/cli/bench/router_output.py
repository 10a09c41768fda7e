"""Output of `cbnet bench router`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cbnet.cli.bench.numbers import number, ratio
from cbnet.cli.console import add_cells, new_grid

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet.lab.bench.router.cases import Case
    from cbnet.lab.bench.router.comparison import CaseResult, RouterPlan

_BASE = "nats"  # that the others are compared with


def print_comparison(
    plan: RouterPlan, configurations: Sequence[tuple[str, str]], results: Sequence[CaseResult]
) -> None:
    """Print the configurations, and the processor time of each server in each case."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    for version, configuration in configurations:
        console.print(f"{version}\n  " + configuration.replace("\n", "\n  "))
    console.print()
    console.print(f"processor time of the server; best of {plan.rounds} rounds, servers in turn; seed {plan.seed}")
    for case in plan.cases:
        console.print(_grid(case, [each for each in results if each.case == case]))
    if any(each.problem is not None for each in results):
        console.print("answers: WRONG")
    else:
        console.print("answers: every subscriber received all messages, each once, in order, byte by byte.")


def _grid(case: Case, results: Sequence[CaseResult]) -> Grid:
    heads = ("filters", "µs/message", "µs/delivery", "messages/s", f"× {_BASE}", "MB")
    grid = new_grid(f"{case.name}: {case.text}", "server", *heads)
    base = next((each.best.cpu_per_message for each in results if each.server == _BASE), None)
    for result in results:
        cpu = result.best.cpu_per_message
        filters = "–" if result.filters is None else f"{result.filters:,}"
        speed = max(each.messages_per_s for each in result.rounds)
        numbers = (cpu, cpu / case.load.subscribers, speed, ratio(cpu, base), result.memory / 1e6)
        add_cells(grid, result.server, filters, *map(number, numbers))
    return grid
