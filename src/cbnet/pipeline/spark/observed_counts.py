"""Counts of the rows that pass a point of a query, made in the pass that computes its result.

Spark keeps no such counts for a part of a plan that it prunes while the query runs, as it does when its input turns out
to be empty. A separate query then counts the rows.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, Observation, SparkSession


class ObservedCounts:
    """Rows, and aggregates of them by name."""

    def __init__(self, rows: DataFrame, **counts: Column) -> None:
        self._rows = rows
        self._aggregates = [column.alias(name) for name, column in counts.items()]
        self._observation = Observation()
        self.rows = rows.observe(self._observation, *self._aggregates)
        """The rows to use instead: an action on them computes the counts."""

    def values(self) -> dict[str, int]:
        """Return the counts of the first action that used the rows, or else of a query of its own."""
        values = observed(self._rows.sparkSession, self._observation)
        if not values:
            [row] = self._rows.agg(*self._aggregates).collect()
            values = row.asDict()
        return {name: count or 0 for name, count in values.items()}  # the sum of no rows is null


def observed(spark: SparkSession, observation: Observation) -> dict[str, Any]:
    """Return what Spark has counted; nothing if there was no action, or if it kept no counts."""
    wait_for_listeners(spark)
    counted: Any = observation._jo  # Python's would wait for ever for counts that are not kept
    return dict(counted.getAsJava()) if counted.future().isCompleted() else {}


def wait_for_listeners(spark: SparkSession) -> None:
    """Wait until Spark's listeners know the end of the last action; give up on a slow one."""
    context: Any = spark.sparkContext._jsc
    with suppress(Py4JJavaError):
        context.sc().listenerBus().waitUntilEmpty()
