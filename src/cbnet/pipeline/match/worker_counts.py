"""Tallies: what have the workers counted so far? Each partition counts once, however often it is computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pyspark import Accumulator, AccumulatorParam, TaskContext
from pyspark.sql import SparkSession

from cbnet.pipeline.match.batch_matcher import Note, Tally

_ByPart = dict[int, Tally]


@dataclass(frozen=True)
class Tallies:
    """The tallies of one job: `note` is called by its workers, `total` by who started it."""

    _noted: Accumulator[_ByPart]

    @classmethod
    def new(cls, spark: SparkSession) -> Tallies:
        """Begin to count."""
        return cls(spark.sparkContext.accumulator({}, _Union()))

    @property
    def note(self) -> Note:
        """What the workers call."""
        return partial(_note, self._noted)

    def clear(self) -> None:
        """Begin anew."""
        self._noted.value = {}

    def total(self) -> Tally:
        """Return all that has been counted."""
        return sum(self._noted.value.values(), Tally())


class _Union(AccumulatorParam[_ByPart]):
    def zero(self, value: _ByPart) -> _ByPart:  # noqa: ARG002
        return {}

    def addInPlace(self, one: _ByPart, other: _ByPart) -> _ByPart:  # noqa: N802
        return one | other


def _note(noted: Accumulator[_ByPart], tally: Tally) -> None:
    context = TaskContext.get()
    noted.add({context.partitionId() if context else 0: tally})
