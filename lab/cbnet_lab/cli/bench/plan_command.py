"""Commands made from plans: the options are the fields of the plan, the help is its docstring.

A benchmark is a module with these functions:

    run(plan, report)      yields rows, each when it is measured; one whose `problem` is not None is a wrong answer
    tables(plan, rows)     yields what is shown to people: lines, and tables of the rows
    notes(plan)            yields notes before the run, such as rivals that are not installed; may be missing
    problems(plan, rows)   yields what is wrong, if it is not the problems of the rows; may be missing
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cbnet.cli.console import add_cells, new_grid, print_json, print_note, results_console, step_progress
from cbnet.cli.options import JSON
from cbnet.errors import CbnetError
from cbnet_lab.bench.result_table import ResultTable, members

if TYPE_CHECKING:
    from rich.console import Console


def plan_command(plan: type, module: str | Callable[[Any], str]) -> Callable[..., None]:
    """Return the function of a command; module: of the benchmark, or a function of the plan that returns it."""

    def command(plan: Any, as_json: bool = JSON) -> None:
        _run(import_module(module if isinstance(module, str) else module(plan)), plan, as_json)

    command.__doc__, command.__annotations__ = plan.__doc__, {"plan": plan, "as_json": bool}
    return command


def _run(benchmark: Any, plan: Any, as_json: bool) -> None:
    for note in benchmark.notes(plan) if hasattr(benchmark, "notes") else ():
        print_note(note)
    rows = []
    with _ended_by_signal(), step_progress() as report, closing(benchmark.run(plan, report)) as measured:
        for row in measured:
            rows.append(row)
            if as_json:
                print_json(row.members() if hasattr(row, "members") else members(row))
    if not as_json:
        print_shown(benchmark.tables(plan, rows))
    if hasattr(benchmark, "problems"):
        problems = [*benchmark.problems(plan, rows)]
    else:
        problems = [row.problem for row in rows if getattr(row, "problem", None) is not None]
    if problems:
        raise CbnetError(f"wrong answers: {'; '.join(problems)}")


def print_results(
    rows: Iterable[dict[str, Any]], shown: Iterable[str | ResultTable[Any]], *, as_json: bool, tight: bool = False
) -> None:
    """Print rows as JSON Lines for programs, or lines and tables for people."""
    if not as_json:
        print_shown(shown, tight=tight)
        return
    for row in rows:
        print_json(row)


def print_shown(shown: Iterable[str | ResultTable[Any]], *, tight: bool = False) -> None:
    """Print lines and tables; tight: with titles above the tables, so that more columns fit."""
    console = results_console()
    for each in shown:
        if isinstance(each, str):
            console.print(each, markup=False, soft_wrap=True)
        else:
            _show_table(console, each, tight=tight)


def _show_table(console: Console, table: ResultTable[Any], *, tight: bool) -> None:
    grid = new_grid("" if tight else table.title, *([""] * 2 if table.is_list else table.columns), tight=tight)
    grid.show_header = not table.is_list
    for line in table.lines():
        add_cells(grid, *line)
    console.print(*([f"[bold]{table.title}[/]", grid, ""] if tight else [grid]))


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Let SIGTERM end a run as Ctrl-C does, so that no server is left behind."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
