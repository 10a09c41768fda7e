"""The costs of a run per descriptor, and what another number of descriptors would cost.

Costs grow in proportion to the descriptors of the population, at most: later stages have fewer rows, because larger
populations have more redundant descriptors, and the start of Spark counts once. So an estimate is an upper bound, less
tight for smaller runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cbnet.errors import InputError
from cbnet.pipeline.spark.results import StoredResult

_POPULATION = "population"
_FIXED = ("models", "curves")  # do not depend on the number of users


@dataclass(frozen=True)
class StageCost:
    """What a stage costs."""

    name: str
    rows: float
    cpu_seconds: float  # of Java and Python; on a cluster, the time of all tasks, which is more
    shuffle_bytes: float
    stored_bytes: float
    tasks: float

    @property
    def bytes_per_task(self) -> float:
        """Bytes that a task shuffles or stores on average; the number of tasks grows with the rows."""
        return max(self.shuffle_bytes, self.stored_bytes) / max(1, self.tasks)

    def times(self, factor: float) -> StageCost:
        """Return the cost for a multiple of the descriptors."""
        if self.name in _FIXED:
            return self
        members = (self.rows, self.cpu_seconds, self.shuffle_bytes, self.stored_bytes, self.tasks)
        return StageCost(self.name, *(factor * member for member in members))


def measured_costs(results: Mapping[str, StoredResult]) -> list[StageCost]:
    """Return the cost of each stage of a run; results: by the name of the stage."""
    if _POPULATION not in results or not results[_POPULATION].rows:
        raise InputError("this run has no population yet", hint="`cbnet pipeline run` computes it")
    return [
        StageCost(
            name, result.rows, _cpu_seconds(result), result.cost["shuffle_bytes"], result.bytes, result.cost["tasks"]
        )
        for name, result in results.items()
    ]


def _cpu_seconds(result: StoredResult) -> float:
    """Return the processor time of a stage; that of a cluster is not measured, only the time of its tasks."""
    if str(result.origin["master"]).startswith("local"):
        return float(result.cost["java_cpu_seconds"] + result.cost["python_cpu_seconds"])
    return float(result.cost["executor_seconds"])


def descriptors_of(costs: list[StageCost]) -> int:
    """Return the number of descriptors of the population."""
    return int(next(cost.rows for cost in costs if cost.name == _POPULATION))
