"""Match counts collected from the workers; each partition counts once, however often it is computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pyspark import Accumulator, AccumulatorParam, TaskContext
from pyspark.sql import SparkSession

from cbnet.pipeline.match.batch_matcher import AddCounts, MatchCounts

_ByPart = dict[int, MatchCounts]


@dataclass(frozen=True)
class WorkerCounts:
    """The counts of one job: workers call `add`, the driver calls `total`."""

    _counts: Accumulator[_ByPart]

    @classmethod
    def new(cls, spark: SparkSession) -> WorkerCounts:
        """Return counts of zero."""
        return cls(spark.sparkContext.accumulator({}, _Union()))

    @property
    def add(self) -> AddCounts:
        """The function that workers call with their counts."""
        return partial(_add, self._counts)

    def clear(self) -> None:
        """Reset the counts to zero."""
        self._counts.value = {}

    def total(self) -> MatchCounts:
        """Return the sum over all partitions."""
        return sum(self._counts.value.values(), MatchCounts())


class _Union(AccumulatorParam[_ByPart]):
    def zero(self, value: _ByPart) -> _ByPart:  # noqa: ARG002
        return {}

    def addInPlace(self, one: _ByPart, other: _ByPart) -> _ByPart:  # noqa: N802
        return one | other


def _add(total: Accumulator[_ByPart], counts: MatchCounts) -> None:
    context = TaskContext.get()
    total.add({context.partitionId() if context else 0: counts})
