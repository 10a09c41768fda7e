"""Costs: what did a stage take of the machine? Processor time, memory and bytes shuffled, of Java and Python apart.

Processor time and memory are those of this process and all below it: the driver, its Java, and on one machine all
Python workers. Memory that processes share is counted once. On a cluster the executors' own are not seen here;
shuffled bytes are those of all executors everywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from pyspark.sql import SparkSession

_PERIOD = 1.0  # seconds between two looks at the memory
_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """What was used; what cannot be seen on this system is None."""

    java_cpu_seconds: float | None
    python_cpu_seconds: float | None
    java_peak_bytes: int | None
    python_peak_bytes: int | None
    peak_bytes: int | None  # of both together: less than the sum, if they were not large at the same time
    shuffle_bytes: int


class Meter:
    """Measures from its start until `cost` is asked for; use it in a `with` block."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._stop = Event()
        self._peaks = (0, 0, 0)
        self._before = self._spent = process_times()
        self._shuffled = shuffled_bytes(spark)
        self._thread = Thread(target=self._watch, daemon=True, name="costs")

    def __enter__(self) -> Meter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def cost(self) -> dict[str, Any]:
        """Return what was used so far, as members of a JSON object."""
        self._look()
        shuffled = shuffled_bytes(self._spark) - self._shuffled
        if not self._peaks[2]:
            return asdict(Cost(None, None, None, None, None, shuffled))
        return asdict(Cost(self._cpu(is_java=True), self._cpu(is_java=False), *self._peaks, shuffled))

    def _cpu(self, *, is_java: bool) -> float:
        spent = (
            seconds - self._before.get(process, 0.0)
            for process, seconds in self._spent.items()
            if process.is_java == is_java
        )
        return round(sum(spent), 2)

    def _watch(self) -> None:
        while not self._stop.wait(_PERIOD):
            self._look()

    def _look(self) -> None:
        self._spent = self._spent | process_times()  # those that have ended since keep what was seen last
        java, python = memory_bytes()
        most = zip(self._peaks, (java, python, java + python), strict=True)
        self._peaks = tuple(max(pair) for pair in most)  # type: ignore[assignment]


@dataclass(frozen=True)
class Process:
    """A process; numbers are given again, but not at the same time."""

    number: int
    began: str
    is_java: bool


def process_times() -> dict[Process, float]:
    """Return the seconds of processor time of this process and of all below it."""
    return {process: sum(map(int, fields[11:13])) / _TICKS for process, fields in _processes()}


def memory_bytes() -> tuple[int, int]:
    """Return the memory of Java and of all else below and with this process; shared pages are shared out."""
    java = python = 0
    for process, _ in _processes():
        try:
            text = (_PROC / str(process.number) / "smaps_rollup").read_text()
        except OSError:  # it has ended
            continue
        found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
        size = int(found[1]) * 1024 if found else 0
        java, python = (java + size, python) if process.is_java else (java, python + size)
    return java, python


def shuffled_bytes(spark: SparkSession) -> int:
    """Return the bytes that all executors of a session have written to be shuffled, until now."""
    context: Any = spark.sparkContext._jsc
    context.sc().listenerBus().waitUntilEmpty()  # what has ended may not have been told yet
    executors = context.sc().statusStore().executorList(False)
    return sum(executors.apply(place).totalShuffleWrite() for place in range(executors.size()))


def _processes() -> Iterator[tuple[Process, list[str]]]:
    """Yield this process and those below it, with the fields of its status from the third on."""
    found: dict[int, tuple[Process, list[str]]] = {}
    children: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*/stat"):
        try:
            said = entry.read_text()
        except OSError:  # it has ended
            continue
        number, name = int(entry.parent.name), said[said.index("(") + 1 : said.rindex(")")]
        fields = said[said.rindex(")") + 2 :].split()
        found[number] = Process(number, fields[19], name == "java"), fields
        children.setdefault(int(fields[1]), []).append(number)
    waiting = [os.getpid()]
    while waiting:
        number = waiting.pop()
        if number in found:
            yield found[number]
        waiting += children.get(number, [])
