"""Progress of Spark's stages: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from time import sleep

from pyspark.sql import SparkSession
from rich.console import Console
from rich.file_proxy import FileProxy
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cbnet.pipeline.spark.session_target import is_connect

_REFRESH_PERIOD = 0.5  # seconds


@dataclass(frozen=True)
class StageProgress:
    """The tasks of the running stages."""

    step: str
    done: int
    tasks: int


@contextmanager
def step(spark: SparkSession, name: str) -> Iterator[None]:
    """Name the jobs of this block, on the bar and on Spark's web page; Spark Connect has neither."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(name)
    _steps.append(name)
    try:
        yield
    finally:
        _steps.remove(name)
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]


_steps: list[str] = []  # the innermost is the last


def watch_stages(spark: SparkSession, console: Console | None = None) -> Thread | None:
    """Show the stages of a classic session until it stops, if standard error is a terminal."""
    console = console or Console(stderr=True)
    if is_connect(spark) or not console.is_terminal:
        return None
    thread = Thread(target=show_progress, args=(lambda: _poll(spark), console), daemon=True, name="spark progress")
    thread.start()
    return thread


def show_progress(poll: Callable[[], StageProgress | None], console: Console, period: float = _REFRESH_PERIOD) -> None:
    """Draw a bar while there are tasks, until `poll` returns None."""
    while (progress := poll()) is not None:
        if progress.tasks and not _is_terminal_in_use():
            _draw(poll, progress, console, period)
        sleep(period)


def _is_terminal_in_use() -> bool:
    """Return whether another spinner or bar is shown: two would overwrite each other and leave lines behind."""
    return isinstance(sys.stderr, FileProxy)  # rich replaces it while it animates a line


def _draw(
    poll: Callable[[], StageProgress | None], progress: StageProgress | None, console: Console, period: float
) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("tasks"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, auto_refresh=False) as bars:
        bar = bars.add_task("")
        while progress is not None and progress.tasks:
            bars.update(bar, description=progress.step, completed=progress.done, total=progress.tasks, refresh=True)
            sleep(period)
            progress = poll()


def _poll(spark: SparkSession) -> StageProgress | None:
    """Return the progress of the running stages; None once the session has stopped."""
    context = spark.sparkContext
    if context._jsc is None:
        return None
    try:
        tracker = context.statusTracker()
        stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
    except Exception:  # the session stopped meanwhile, which raises errors of several types
        return None
    name = _steps[-1] if _steps else "Spark"
    return StageProgress(name, sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages))
