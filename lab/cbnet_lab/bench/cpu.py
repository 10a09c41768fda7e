"""Processor time of processes: unlike wall time, independent of other load on the machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import psutil

CpuSeconds = Mapping[int, float | None]  # by process; None for a process that has ended


@dataclass(frozen=True)
class ProcessTreeTime:
    """Processor seconds of a process and of its descendants."""

    own: float
    descendants: float  # including those that have ended

    def __sub__(self, other: ProcessTreeTime) -> ProcessTreeTime:
        return ProcessTreeTime(self.own - other.own, self.descendants - other.descendants)


def cpu_seconds(pid: int) -> float | None:
    """Return the user and system seconds of a process, or None if there is no such process."""
    try:
        return cpu_nanoseconds(pid) / 1e9
    except (OSError, psutil.NoSuchProcess):
        return None


def cpu_nanoseconds(pid: int) -> int:
    """Return the user and system time of all threads of a process; on Linux not in ticks of 10 ms."""
    if sys.platform == "linux":
        return time.clock_gettime_ns(~pid << 3 | 2)  # as clock_getcpuclockid(3) computes the clock of a process
    times = psutil.Process(pid).cpu_times()
    return round((times.user + times.system) * 1e9)


def cpu_of(pids: Iterable[int]) -> CpuSeconds:
    """Return the processor seconds of several processes."""
    return {pid: cpu_seconds(pid) for pid in pids}


def used_since(before: CpuSeconds, pids: Iterable[int]) -> list[float]:
    """Return the seconds that each process has used since `before`, for those alive both times."""
    now = cpu_of(pids)
    return [after - then for pid, after in now.items() if after is not None and (then := before.get(pid)) is not None]


def process_tree_time(pid: int) -> ProcessTreeTime:
    """Return the processor seconds that a process and its descendants have used so far."""
    process = psutil.Process(pid)
    descendants = 0.0
    for child in process.children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        descendants += times.user + times.system + times.children_user + times.children_system
    own = process.cpu_times()
    return ProcessTreeTime(own.user + own.system, descendants)
