"""Commands made from plans: the options are the fields of the plan, the help is its docstring.

A benchmark is a module with these functions:

    run(plan, report)      yields rows, each when it is measured; one whose `problem` is not None is a wrong answer
    tables(plan, rows)     yields what is shown to people: lines, and tables of the rows
    notes(plan)            yields notes before the run, such as rivals that are not installed; may be missing
    problems(plan, rows)   yields what is wrong, if it is not the problems of the rows; may be missing
"""

from __future__ import annotations

import inspect
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

import typer

from cbnet.cli.console import add_cells, new_grid, print_json, print_note, results_console, step_progress
from cbnet.cli.options import Json
from cbnet.errors import CbnetError
from cbnet_lab.bench.plan_options import OPTION, PlanOption
from cbnet_lab.bench.result_table import ResultTable, members

if TYPE_CHECKING:
    from dataclasses import Field

    from rich.console import Console


def plan_command(name: str, plan: type, module: str | Callable[[Any], str]) -> Callable[..., None]:
    """Return the function of a command; module: of the benchmark, or a function of the plan that returns it."""

    def run(chosen: Any, as_json: bool) -> None:
        _run(import_module(module if isinstance(module, str) else module(chosen)), chosen, as_json)

    return plan_function(name, plan, run)


def plan_function(name: str, plan: type, run: Callable[[Any, bool], None]) -> Callable[..., None]:
    """Return the function of a command; run: called with the plan, and whether to print JSON."""
    hints = get_type_hints(plan)
    options = {field.name: field for field in fields(plan)}

    def command(**values: Any) -> None:
        as_json = values.pop("json")
        given = {key: value for key, value in values.items() if value is not None and value != []}
        run(plan(**{key: _parsed(options[key], value) for key, value in given.items()}), as_json)

    parameters = [_parameter(field, hints[key]) for key, field in options.items()]
    parameters.append(inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json))
    command.__name__, command.__doc__ = name, plan.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _parameter(field: Field[Any], hint: Any) -> inspect.Parameter:
    about: PlanOption = field.metadata[OPTION]
    kind: Any = about.raw or (hint if about.parse is None else str)
    default = inspect.Parameter.empty if about.default is ... else about.default
    if get_origin(kind) is tuple:  # several values
        kind, default = (list[str], default) if about.default is ... else (list[str] | None, None)
    common: dict[str, Any] = {"metavar": about.metavar or None, "help": about.help, "show_default": about.shown}
    if about.name == "":
        option = typer.Argument(**common)
    else:
        option = typer.Option(*_names(field.name, about), min=about.least, max=about.most, **common)
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _names(field: str, about: PlanOption) -> list[str]:
    return about.name.split() if about.name else [f"--{field.replace('_', '-')}"]


def _parsed(field: Field[Any], value: Any) -> Any:
    about: PlanOption = field.metadata[OPTION]
    if about.parse is not None:
        return about.parse(_names(field.name, about)[0], value)
    return tuple(value) if isinstance(value, list) else value


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
