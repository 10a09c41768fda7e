"""Grids: how do tables look on a terminal?

Titles, heads and cells are shown as they are: a node may be called [red], which is no markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as Grid

_BAR = 20  # characters of the longest bar


def new_grid(title: str, first: str, *others: str, tight: bool = False) -> Grid:
    """Return an empty table; the first column says what a row is about. A last column without a head is for bars.

    A tight one has no margin, and little room between columns.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    said = Text(title, style="bold") if title else None
    made = Table(title=said, title_justify="left", header_style="dim", box=box.SIMPLE_HEAD)
    made.show_edge = made.pad_edge = not tight
    made.collapse_padding = tight
    made.add_column(Text(first), style="cyan")
    for head in others:
        made.add_column(Text(head), justify="right" if head or len(others) == 1 else "left")
    return made


def add_cells(grid: Grid, *cells: object) -> None:
    """Add a row of cells as they are."""
    from rich.text import Text

    grid.add_row(*(Text(str(cell)) for cell in cells))


def bar_grid(title: str, what: str, unit: str, rows: Sequence[tuple[object, int]], total: int | None = None) -> Grid:
    """Return a table of counts, each with its share of the total, or else of their sum, and a bar."""
    made = new_grid(title, what, unit, "share", "")
    longest = max((count for _, count in rows), default=1)
    whole = sum(count for _, count in rows) if total is None else total
    for said, count in rows:
        bar = "█" * round(_BAR * count / longest) or "▏"
        add_cells(made, said, f"{count:,}", f"{count / max(1, whole):.1%}", bar)
    return made
