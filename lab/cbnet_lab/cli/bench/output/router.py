"""Output of `cbnet bench router`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cbnet.cli.console import add_cells, new_grid
from cbnet_lab.cli.bench.output.numbers import number, ratio

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from cbnet_lab.bench.router.case_result import CaseResult
    from cbnet_lab.bench.router.cases import Case
    from cbnet_lab.bench.router.comparison import RouterPlan

_BASE = "nats"  # that the others are compared with


def print_comparison(plan: RouterPlan, results: Sequence[CaseResult]) -> None:
    """Print the configurations, and the processor time of each server in each case."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in _configurations(results):
        console.print(line)
    console.print(
        f"\nprocessor time of the server: best of {plan.rounds} rounds, all servers in turn; seed {plan.seed}"
    )
    for case in plan.cases:
        console.print(_grid(case, [each for each in results if each.case == case]))
    if any(each.problem is not None for each in results):
        console.print("answers: WRONG")
    else:
        console.print("answers: every subscriber received every message once, in order and byte by byte.")


def _configurations(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield version and configuration of each server; routers with different filters are started alike."""
    seen: dict[tuple[str, bool, int], CaseResult] = {}
    for result in results:
        seen.setdefault((result.version, result.case.is_tls, len(result.configurations)), result)
    for (version, is_tls, _), result in seen.items():
        yield f"{version}, TLS" if is_tls else version
        for configuration in result.configurations:
            yield "  " + configuration.replace("\n", "\n  ")


def _grid(case: Case, results: Sequence[CaseResult]) -> Grid:
    probe = ("p50 ms", "p99 ms") if case.has_probe else ()
    delivery = ("µs/delivery",) if case.load.subscribers > 1 else ()
    heads = ("filters", "µs/message", *delivery, "messages/s", f"× {_BASE}", "MB", *probe)
    grid = new_grid(f"{case.name}: {case.text}", "server", *heads)
    base = next((each.best.cpu_per_message for each in results if each.server == _BASE), None)
    for result in results:
        for cells in _rows(result, base):
            add_cells(grid, *cells)
    return grid


def _rows(result: CaseResult, base: float | None) -> Iterator[list[str]]:
    """Yield a row for each process of a server."""
    best, load = result.best, result.case.load
    filters = "–" if result.filters is None else f"{result.filters:,}"
    names = [result.server] if len(best.cpu) == 1 else [f"{result.server} {name}" for name in "ab"]
    latencies = [result.latency(percent) for percent in (50, 99)] if result.case.has_probe else []
    for name, time, memory in zip(names, best.cpu, result.memory, strict=True):
        cpu = time / max(1, best.messages)
        delivery = [cpu / load.subscribers] if load.subscribers > 1 else []
        numbers = (cpu, *delivery, result.messages_per_s, ratio(cpu, base), memory / 1e6, *latencies)
        yield [name, filters, *map(number, numbers)]
