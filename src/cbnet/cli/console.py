"""Terminal output of all commands: results, errors, tables and progress.

With `--json`, standard output carries JSON Lines and nothing else, errors included. Without it, results go to
standard output; errors, progress and notes go to standard error.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cbnet.errors import FileError, InputError, PredicateSyntaxError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table as Grid

StepReport = Callable[[str], None]
_PIPE_WIDTH = 160  # characters
_BAR = 20  # characters of the longest bar


def print_json(row: dict[str, Any]) -> None:
    """Print an object on one line."""
    sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")


def print_outcome(row: dict[str, Any], note: str, *, as_json: bool) -> None:
    """Print what a command has done: an object, or a note."""
    if as_json:
        print_json(row)
    else:
        print_note(note)


def printable(text: str) -> str:
    """Return a text of others as one line for a terminal; control characters could forge output and are escaped."""
    return text if text.isprintable() else "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def print_note(note: str) -> None:
    """Print lines for people on standard error."""
    print("\n".join(map(printable, note.split("\n"))), file=sys.stderr)


def print_error(error: InputError, as_json: bool) -> None:
    """Print an error; the errors of a file one by one."""
    if isinstance(error, FileError):
        for each in error.reported:
            print_error(each, as_json)
    elif as_json:
        problem = f"{error.file}: {error.problem}" if error.file else error.problem
        print_json({"error": problem, "line": error.line, "column": error.column, "hint": error.hint})
    else:
        print_note(f"error: {error.summary}")
        if isinstance(error, PredicateSyntaxError):
            print_note("\n".join(f"  {line}" for line in error.excerpt().split("\n")))


def quote_rule(name: str | int) -> str:
    """Return the name of a rule for a list; one that could be misread is quoted."""
    plain = isinstance(name, int) or re.fullmatch(r"[^\W\d][\w.:/@+-]*", name)
    return str(name) if plain else json.dumps(name, ensure_ascii=False)


def plural(count: int, noun: str) -> str:
    """Return a number with its noun: 1 message, 2 messages, 3 deliveries, 4 matches."""
    if count == 1:
        return f"1 {noun}"
    ending = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count:,} {ending}"


# --- tables: titles, heads and cells are printed as they are, because a node may be called [red]


def new_grid(
    title: str,
    first: str,
    *others: str,
    rows: Iterable[Sequence[object]] = (),
    text: Collection[str] = (),
    tight: bool = False,
) -> Grid:
    """Return a table whose first column names the row. A last column without a head is for bars.

    `text` are the heads of columns that are not numbers. A tight table has no margin, and narrow gaps between columns.
    On a narrow terminal, cells are folded, not cut.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        header_style="dim",
        box=box.SIMPLE_HEAD,
    )
    grid.show_edge = grid.pad_edge = not tight
    grid.collapse_padding = tight
    grid.add_column(Text(first), style="cyan", overflow="fold")
    for head in others:
        is_number = head not in text and (head or len(others) == 1)
        grid.add_column(Text(head), justify="right" if is_number else "left", overflow="fold")
    for cells in rows:
        add_cells(grid, *cells)
    return grid


def add_cells(grid: Grid, *cells: object) -> None:
    """Add a row of cells as they are."""
    from rich.text import Text

    grid.add_row(*(Text(printable(str(cell))) for cell in cells))


def bar_grid(title: str, what: str, unit: str, rows: Sequence[tuple[object, int]], total: int | None = None) -> Grid:
    """Return a table of counts, each with its share of the total (by default their sum) and a bar."""
    grid = new_grid(title, what, unit, "share", "")
    longest = max((count for _, count in rows), default=1)
    whole = sum(count for _, count in rows) if total is None else total
    for name, count in rows:
        bar = "█" * round(_BAR * count / longest) or "▏"
        add_cells(grid, name, f"{count:,}", f"{count / max(1, whole):.1%}", bar)
    return grid


# --- progress: only on a terminal


def results_console() -> Console:
    """Return the console of results; tables in a file or pipe are not cut to the width of a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPE_WIDTH
    return console


@contextmanager
def step_progress(*, in_lines: bool = False) -> Iterator[StepReport]:
    """Yield a function that shows the current step on standard error until the next one.

    in_lines: print a line for each step if standard error is not a terminal.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: print_note(f"{step} …") if in_lines else None
        return
    with console.status("starting") as status:
        yield lambda step: status.update(f"{step} …")


def progress_bar() -> Progress:
    """Return progress bars on standard error, which disappear at the end of their `with` block."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    # If redirected, text that is printed meanwhile would go to the console of the bars and not to a file or pipe.
    return Progress(console=console, transient=True, redirect_stdout=False, disable=not console.is_terminal)
