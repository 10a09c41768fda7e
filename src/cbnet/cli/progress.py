"""Progress: what is being done now, and how far is it? Shown on a terminal that waits, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

Report = Callable[[str], None]


@contextmanager
def reported_steps() -> Iterator[Report]:
    """Give a function that shows a step on standard error until the next one, if that is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("starting") as status:
        yield lambda step: status.update(f"{step} …")


def progress_bar() -> Progress:
    """Return bars on standard error, if that is a terminal; they are gone at the end of their `with` block."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    # Redirected, what is printed meanwhile would go to the bars' console, and nothing to a file or pipe.
    return Progress(console=console, transient=True, redirect_stdout=False, disable=not console.is_terminal)
