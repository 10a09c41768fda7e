"""Timing of several methods in interleaved rounds, for noisy machines, and processor time of processes.

The methods take turns for several rounds and the best round of each counts: noise affects all methods
alike, so their ratios are stable even where their times are not. Benchmarks measure wall time, which includes threads
and other processes; experiments measure processor time of this thread, and keep every turn.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from time import monotonic, perf_counter, sleep, thread_time

import psutil

from cbnet.errors import CbnetError

Passes = Callable[[int], float]  # runs the work the given number of times and returns the seconds

_ROUNDS = 7
_MAX_SECONDS = 20.0  # after this time, only the minimum number of rounds
_MIN_ROUNDS = 2
_POLL = 0.02  # seconds


def passes(work: Callable[[], object]) -> Passes:
    """Return a timer of work in this process."""

    def run(times: int) -> float:
        start = perf_counter()
        for _ in range(times):
            work()
        return perf_counter() - start

    return run


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the seconds since the block began; after the block, the seconds that it took."""
    start, end = perf_counter(), None
    yield lambda: (end or perf_counter()) - start
    end = perf_counter()


def best_of_rounds(methods: Mapping[str, Passes], seconds: float) -> dict[str, float]:
    """Return the seconds of one pass of each method; a measurement lasts at least `seconds`."""
    start = perf_counter()
    with _without_collector():
        best = {name: run(1) for name, run in methods.items()}  # also the warm-up
        times = {name: max(1, ceil(seconds / max(once, 1e-9))) for name, once in best.items()}
        for count in range(_ROUNDS):
            if count >= _MIN_ROUNDS and perf_counter() - start > _MAX_SECONDS:
                break
            for name, run in methods.items():
                best[name] = min(best[name], run(times[name]) / times[name])
    return best


def cpu_of_turns(methods: Sequence[Callable[[], object]], turns: int, seconds: float) -> list[list[float]]:
    """Return the CPU seconds of each method in each turn: the best of as many passes as fill `seconds`."""
    passes = [max(1, ceil(seconds / max(cpu_seconds_of(method), 1e-9))) for method in methods]  # also the warm-up
    with _without_collector():
        return [
            [cpu_seconds_of(method, count) for method, count in zip(methods, passes, strict=True)] for _ in range(turns)
        ]


def cpu_seconds_of(work: Callable[[], object], passes: int = 1) -> float:
    """Return the CPU seconds of the best of `passes` passes in this thread; other processes do not count."""
    spent = []
    for _ in range(passes):
        start = thread_time()
        work()
        spent.append(thread_time() - start)
    return min(spent)


def wait_until_quiet(count: Callable[[], int], expected: int, *, settle: float, quiet: float) -> None:
    """Call `count` until it has not grown for `quiet` seconds, or for `settle` seconds if it has reached `expected`."""
    seen, since = -1, monotonic()
    while True:
        if (found := count()) != seen:
            seen, since = found, monotonic()
        if monotonic() - since >= (settle if seen >= expected else quiet):
            return
        sleep(_POLL)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable the garbage collector, as `timeit` does."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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
