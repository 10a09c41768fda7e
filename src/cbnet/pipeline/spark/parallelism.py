"""Numbers of partitions, and tasks that are functions instead of rows.

No result depends on the number of partitions. A task is a function without arguments, such as a `functools.partial`,
that carries all its inputs, the random seed included: it may run anywhere, and more than once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import ceil
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from cbnet.pipeline.schemas import OUTCOMES, record_batch

T = TypeVar("T")
# A row of some 40 bytes: partitions of 40 MB, in tasks of a second or more.
_MAX_ROWS = 1_000_000
_MIN_ROWS = 20_000  # of a partition, if there are cores for more: a task that starts takes as long as these
_TASKS_PER_CORE = 3  # so that no core waits long for the last task of another


def partitions_for(spark: SparkSession, rows: float) -> int:
    """Return a number of partitions that keeps them small, and uses all cores where the number of rows justifies it."""
    cores = _TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    return max(1, ceil(rows / _MAX_ROWS), min(cores, ceil(rows / _MIN_ROWS)))


def run_tasks(spark: SparkSession, tasks: Sequence[Callable[[], T]], partitions: int | None = None) -> list[T]:
    """Run tasks on the executors and return their results in order; the results must fit in memory here."""
    if not tasks:
        return []
    numbers = spark.range(0, len(tasks), 1, partitions or len(tasks))
    rows = numbers.mapInArrow(partial(_run, tasks=tuple(tasks)), OUTCOMES).toArrow()
    outcomes: dict[int, T] = {
        number: pickle.loads(outcome)
        for number, outcome in zip(rows["task"].to_pylist(), rows["outcome"].to_pylist(), strict=True)
    }
    return [outcomes[number] for number in range(len(tasks))]


def _run(batches: Iterator[pa.RecordBatch], tasks: Sequence[Callable[[], Any]]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield record_batch(OUTCOMES, [number], [pickle.dumps(tasks[number]())])
