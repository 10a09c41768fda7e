"""Progress: what is Spark doing now, and how far is it? A bar on a terminal that waits, and nothing anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from time import sleep

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_PERIOD = 0.5  # seconds between two looks


@dataclass(frozen=True)
class Work:
    """The tasks of the stages that run now."""

    step: str
    done: int
    tasks: int


@contextmanager
def step(spark: SparkSession, what: str) -> Iterator[None]:
    """Call the jobs of this block `what`, on the bar and on Spark's web page."""
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(what)
    _steps.append(what)
    try:
        yield
    finally:
        _steps.remove(what)
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]


_steps: list[str] = []  # the innermost is the last


def watch_stages(spark: SparkSession, console: Console | None = None) -> Thread | None:
    """Show the stages of a session until it stops, if standard error is a terminal."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        return None
    thread = Thread(target=show_work, args=(lambda: _work(spark), console), daemon=True, name="spark progress")
    thread.start()
    return thread


def show_work(look: Callable[[], Work | None], console: Console, period: float = _PERIOD) -> None:
    """Draw what `look` sees, until it sees the end: None. There is a bar only while there are tasks."""
    while (work := look()) is not None:
        if work.tasks:
            _draw(look, work, console, period)
        sleep(period)


def _draw(look: Callable[[], Work | None], work: Work, console: Console, period: float) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("tasks"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, auto_refresh=False) as progress:
        bar = progress.add_task(work.step, total=work.tasks)
        seen: Work | None = work
        while seen is not None and seen.tasks:
            progress.update(bar, description=seen.step, completed=seen.done, total=seen.tasks, refresh=True)
            sleep(period)
            seen = look()


def _work(spark: SparkSession) -> Work | None:
    """Return what runs now; None once the session has stopped."""
    context = spark.sparkContext
    if context._jsc is None:
        return None
    try:
        tracker = context.statusTracker()
        stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
    except Exception:  # it stopped while we asked, and there is no one error for that
        return None
    named = _steps[-1] if _steps else "Spark"
    return Work(named, sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages))
