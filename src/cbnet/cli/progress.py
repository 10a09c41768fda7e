"""Progress: what is being done now? One line on a terminal that waits, and nothing anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
