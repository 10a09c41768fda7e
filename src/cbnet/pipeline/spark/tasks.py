"""Tasks: how does work that is not rows run on the executors?

A task is a function without arguments, such as a `functools.partial`, that carries all that it needs, its random seed
included. So it does not matter where or how often it runs.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from cbnet.pipeline.schemas import OUTCOMES, arrow_schema

T = TypeVar("T")


def run_tasks(spark: SparkSession, tasks: Sequence[Callable[[], T]], partitions: int | None = None) -> list[T]:
    """Return what each task returns, in their order; all of it must fit in memory here."""
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
            columns = [pa.array([number]), pa.array([pickle.dumps(tasks[number]())])]
            yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(OUTCOMES))
