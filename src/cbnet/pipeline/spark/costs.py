"""Costs of a stage: processor time, memory and shuffled bytes, of Java and Python apart.

Processor time and memory are those of this process and its descendants: the driver, its Java and, in local mode, all
Python workers. Shared memory is counted once. On a cluster the executors' processes are not included; shuffled bytes
are those of all executors.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from threading import Event, Thread
from typing import Any

import psutil
from pyspark.sql import SparkSession

_SAMPLING_PERIOD = 1.0  # seconds


@dataclass(frozen=True)
class Cost:
    """Resources used between two times."""

    java_cpu_seconds: float
    python_cpu_seconds: float
    java_peak_bytes: int
    python_peak_bytes: int
    peak_bytes: int  # of both together: less than the sum if the peaks were at different times
    shuffle_bytes: int


@dataclass(frozen=True)
class ProcessUsage:
    """Resources of one process at one time; shared memory in proportion (PSS) where the system reports it."""

    is_java: bool
    cpu_seconds: float
    memory_bytes: int


class CostMeter:
    """Measures from its creation on, inside a `with` block."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._stop = Event()
        self._peaks = (0, 0, 0)
        self._before = self._latest = process_usage()
        self._shuffled = shuffled_bytes(spark)
        self._thread = Thread(target=self._run, daemon=True, name="costs")

    def __enter__(self) -> CostMeter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def cost(self) -> dict[str, Any]:
        """Return the cost so far as members of a JSON object."""
        self._sample()
        shuffled = shuffled_bytes(self._spark) - self._shuffled
        return asdict(Cost(self._cpu(is_java=True), self._cpu(is_java=False), *self._peaks, shuffled))

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


def process_usage() -> dict[psutil.Process, ProcessUsage]:
    """Return the usage of this process and of all its descendants."""
    own = psutil.Process()
    usage = {}
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.Error), process.oneshot():  # an ended process raises an error
            cpu, memory = process.cpu_times(), process.memory_full_info()
            size = getattr(memory, "pss", memory.uss)
            usage[process] = ProcessUsage(process.name() == "java", cpu.user + cpu.system, size)
    return usage


def shuffled_bytes(spark: SparkSession) -> int:
    """Return the shuffle bytes that all executors of a session have written so far."""
    context: Any = spark.sparkContext._jsc
    context.sc().listenerBus().waitUntilEmpty()  # events of ended tasks may still be queued
    executors = context.sc().statusStore().executorList(False)
    return sum(executors.apply(index).totalShuffleWrite() for index in range(executors.size()))
