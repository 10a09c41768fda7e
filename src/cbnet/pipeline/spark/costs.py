"""Costs of a stage: of this machine, and of all executors.

Processor time and memory are those of this process and its descendants, of Java and Python apart: the driver, its Java
and, in local mode, all Python workers. Shared memory is counted once. On a cluster the executors' processes are not
included. Times and bytes of the executors are those of Spark's status store, for the jobs of one group, wherever they
ran; the store keeps the last 1000 jobs (`spark.ui.retainedJobs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from threading import Event, Thread
from typing import Any

import psutil
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from cbnet.pipeline.spark.observed_counts import wait_for_listeners

_SAMPLING_PERIOD = 1.0  # seconds
_GROUP = "spark.jobGroup.id"


@dataclass(frozen=True)
class ProcessUsage:
    """Resources of one process at one time.

    Memory of Python is counted in proportion (PSS) where the system reports it: workers share pages with the process
    that forked them. For Java it is RSS: it shares few pages, and summing them would pause it for 0.1 s.
    """

    is_java: bool
    cpu_seconds: float
    memory_bytes: int


class CostMeter:
    """Measures from its creation on, inside a `with` block; Spark's jobs of this thread then belong to its group."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._group = f"cbnet-{token_hex(8)}"
        self._outer_group: str | None = None
        self._stop = Event()
        self._peaks = (0, 0, 0)
        self._before = self._latest = process_usage(is_sized=False)
        self._thread = Thread(target=self._run, daemon=True, name="costs")

    def __enter__(self) -> CostMeter:
        self._outer_group = self._spark.sparkContext.getLocalProperty(_GROUP)
        self._spark.sparkContext.setLocalProperty(_GROUP, self._group)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._spark.sparkContext.setLocalProperty(_GROUP, self._outer_group)  # type: ignore[arg-type]

    def cost(self) -> dict[str, Any]:
        """Return the cost so far as members of a JSON object."""
        self._sample()
        java, python, both = self._peaks
        stages = _stages_of_group(self._spark, self._group)
        return {
            "java_cpu_seconds": self._cpu(is_java=True),
            "python_cpu_seconds": self._cpu(is_java=False),
            "java_peak_bytes": java,
            "python_peak_bytes": python,
            "peak_bytes": both,  # less than the sum if the peaks were at different times
            **_executor_usage(stages),
            "skew": _skew(self._spark, stages),
        }

    def _cpu(self, *, is_java: bool) -> float:
        seconds = (
            usage.cpu_seconds - (self._before[process].cpu_seconds if process in self._before else 0.0)
            for process, usage in self._latest.items()
            if usage.is_java == is_java
        )
        return round(sum(seconds), 2)

    def _run(self) -> None:
        while not self._stop.wait(_SAMPLING_PERIOD):
            self._sample()

    def _sample(self) -> None:
        current = process_usage()
        self._latest = self._latest | current  # ended processes keep their last sample
        java = sum(usage.memory_bytes for usage in current.values() if usage.is_java)
        python = sum(usage.memory_bytes for usage in current.values() if not usage.is_java)
        peaks = zip(self._peaks, (java, python, java + python), strict=True)
        self._peaks = tuple(max(pair) for pair in peaks)  # type: ignore[assignment]


def process_usage(*, is_sized: bool = True) -> dict[psutil.Process, ProcessUsage]:
    """Return the usage of this process and of all its descendants; the memory is 0 unless `is_sized`.

    The system walks through all pages of a process to size it: some 30 ms for half a gigabyte.
    """
    own = psutil.Process()
    usage = {}
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.Error), process.oneshot():  # an ended process raises an error
            cpu, is_java = process.cpu_times(), process.name() == "java"
            usage[process] = ProcessUsage(is_java, cpu.user + cpu.system, _size(process, is_java) if is_sized else 0)
    return usage


def _size(process: psutil.Process, is_java: bool) -> int:
    memory = process.memory_info() if is_java else process.memory_full_info()
    return int(getattr(memory, "pss", memory.rss))


# Spark's objects have no Python types.
def _stages_of_group(spark: SparkSession, group: str) -> list[Any]:
    """Return the last attempt of each of Spark's stages of a group of jobs that has begun."""
    wait_for_listeners(spark)
    context: Any = spark.sparkContext._jsc
    store, tracker = context.sc().statusStore(), spark.sparkContext.statusTracker()
    infos = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    numbers = {stage for info in infos if info is not None for stage in info.stageIds}
    stages = []
    for number in sorted(numbers):
        with suppress(Py4JJavaError):  # the store has dropped it
            stages.append(store.lastStageAttempt(number))
    return [stage for stage in stages if stage.numTasks() and str(stage.status()) not in ("PENDING", "SKIPPED")]


def _executor_usage(stages: Sequence[Any]) -> dict[str, float]:
    """Return the resources of all tasks of some of Spark's stages."""

    def total(name: str) -> int:
        return sum(getattr(stage, name)() for stage in stages)

    return {
        "executor_seconds": round(total("executorRunTime") / 1e3, 3),  # of all tasks, Python workers included
        "executor_cpu_seconds": round(total("executorCpuTime") / 1e9, 3),  # of Java alone
        "gc_seconds": round(total("jvmGcTime") / 1e3, 3),
        "tasks": total("numCompleteTasks"),
        "failed_tasks": total("numFailedTasks"),
        "input_bytes": total("inputBytes"),
        "output_bytes": total("outputBytes"),
        "shuffle_bytes": total("shuffleWriteBytes"),  # written
        "spilled_bytes": total("diskBytesSpilled"),  # to disk
    }


def _skew(spark: SparkSession, stages: Sequence[Any]) -> dict[str, Any] | None:
    """Return how evenly the tasks of the longest of Spark's stages were loaded; None if it had only one task."""
    longest = max(stages, key=lambda stage: stage.executorRunTime(), default=None)
    if longest is None or longest.numCompleteTasks() < 2:
        return None
    gateway, context = spark.sparkContext._gateway, spark.sparkContext._jsc
    assert gateway is not None
    quantiles = gateway.new_array(gateway.jvm.double, 2)
    quantiles[0], quantiles[1] = 0.5, 1.0
    store: Any = context.sc().statusStore()
    summary = store.taskSummary(longest.stageId(), longest.attemptId(), quantiles)
    if summary.isEmpty():
        return None
    times = summary.get().executorRunTime()
    median, most = (round(times.apply(index) / 1e3, 3) for index in range(2))
    return {"tasks": longest.numCompleteTasks(), "median_task_seconds": median, "longest_task_seconds": most}
