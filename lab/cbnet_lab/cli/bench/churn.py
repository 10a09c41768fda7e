"""`cbnet bench churn`: how long others wait while clients with very many filters come and vanish."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from cbnet.cli.console import add_cells, new_grid, print_json, results_console, step_progress
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError
from cbnet_lab.cli.bench.output.numbers import number, parse_numbers

if TYPE_CHECKING:
    from cbnet_lab.faults.churn.trial import PhaseResult


def churn(
    filters: Annotated[
        int, typer.Option("--filters", metavar="F", min=25_000, help="Filters that a router's clients hold at most.")
    ] = 100_000,
    vanishing: Annotated[
        str, typer.Option("--vanishing", metavar="N,...", help="Filters of clients that vanish, one after the other.")
    ] = "10000",
    seed: Annotated[int, seed_option("Seed of the filters.")] = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Subscribe, unsubscribe and vanish with very many filters, while others ping, publish and connect.

    Two router processes; a prober measures the longest wait in each phase. Every message must arrive once.

    Example: cbnet bench churn --filters 1000000 --vanishing 10000,100000
    """
    from cbnet_lab.faults.churn.trial import ChurnPlan, checked_plan, run_churn

    plan = checked_plan(ChurnPlan(filters, parse_numbers("--vanishing", vanishing), seed))
    signal.signal(signal.SIGTERM, _interrupt)  # so that no router is left behind
    results = []
    with step_progress() as report, closing(run_churn(plan, report)) as measured:
        for result in measured:
            results.append(result)
            if json:
                print_json(result.members())
    if not json:
        _show(results)
    wrong = [f"{each.name}: {each.problem}" for each in results if each.problem is not None]
    if wrong:
        raise CbnetError(f"wrong answers: {'; '.join(wrong)}")


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _show(results: Sequence[PhaseResult]) -> None:

    from cbnet_lab.faults.churn.longest_waits import MAX_MESSAGE, MAX_PING, LongestWaits

    console = results_console()
    heads = ("seconds", "CPU s: a", "b", "ping ms", "message ms", "connect ms", "prober late ms")
    grid = new_grid("Longest wait in each phase", "phase", *heads)
    longest = LongestWaits()
    for each in results:
        longest.add(each.waits)
        numbers = (each.seconds, *each.cpu, *each.waits.milliseconds().values())
        add_cells(grid, each.name, *map(number, numbers))
    console.print(grid)
    verdict = "met" if longest.is_within_goals else "missed"
    console.print(
        f"goals {verdict}: no ping above {1000 * MAX_PING:.0f} ms, no message above {1000 * MAX_MESSAGE:.0f} ms."
    )
    if not any(each.problem for each in results):
        console.print(
            "answers: every message arrived once, in order; both routers hold what they must after each phase."
        )
