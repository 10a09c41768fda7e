"""Grids: how do tables look on a terminal?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as Grid

_BAR = 20  # characters of the longest bar


def new_grid(title: str, first: str, *others: str) -> Grid:
    """Return an empty table; the first column says what a row is about. A last column without a head is for bars."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_style="bold", title_justify="left", header_style="dim", box=box.SIMPLE_HEAD)
    made.add_column(first, style="cyan")
    for head in others:
        made.add_column(head, justify="right" if head or len(others) == 1 else "left")
    return made


def bar_grid(title: str, what: str, unit: str, rows: Sequence[tuple[object, int]], total: int | None = None) -> Grid:
    """Return a table of counts, each with its share of the total, or else of their sum, and a bar."""
    from rich.text import Text

    made = new_grid(title, what, unit, "share", "")
    longest = max((count for _, count in rows), default=1)
    whole = sum(count for _, count in rows) if total is None else total
    for said, count in rows:
        bar = "█" * round(_BAR * count / longest) or "▏"
        made.add_row(Text(str(said)), f"{count:,}", f"{count / max(1, whole):.1%}", bar)
    return made
