"""Processor time of processes: unlike wall time, independent of other load on the machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import psutil

from cbnet.errors import CbnetError


def cpu_nanoseconds(pid: int) -> int:
    """Return the user and system time of all threads of a process; on Linux finer than the ticks of 10 ms."""
    try:
        if sys.platform == "linux":
            return time.clock_gettime_ns(~pid << 3 | 2)  # as clock_getcpuclockid(3) computes the clock of a process
        times = psutil.Process(pid).cpu_times()
    except (OSError, psutil.NoSuchProcess):
        raise CbnetError(f"process {pid} has ended") from None
    return round((times.user + times.system) * 1e9)


def cpu_meter(pids: Sequence[int]) -> Callable[[], list[float]]:
    """Return a function that returns the processor seconds of each process since this call."""
    before = [cpu_nanoseconds(pid) for pid in pids]
    return lambda: [(cpu_nanoseconds(pid) - then) / 1e9 for pid, then in zip(pids, before, strict=True)]


def process_tree_time(pid: int) -> tuple[float, float]:
    """Return the processor seconds so far of a process, and of its descendants, including those that have ended."""
    process = psutil.Process(pid)
    descendants = 0.0
    for child in process.children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        descendants += times.user + times.system + times.children_user + times.children_system
    own = process.cpu_times()
    return own.user + own.system, descendants
