"""Timing: how long does each of several ways take, on a machine that is never quiet?

The ways take turns, for several rounds, and the best round of each counts: what disturbs one round
disturbs all ways alike, so that their ratios hold where their times do not.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import ceil
from time import perf_counter

Passes = Callable[[int], float]  # does the work so many times, and returns the seconds that it took

_ROUNDS = 7
_PATIENCE = 20.0  # seconds; after these, no more rounds than needed
_NEEDED = 2


def passes(work: Callable[[], object]) -> Passes:
    """Return work in this process as something that can be timed."""

    def run(times: int) -> float:
        start = perf_counter()
        for _ in range(times):
            work()
        return perf_counter() - start

    return run


def best_of_rounds(ways: Mapping[str, Passes], seconds: float) -> dict[str, float]:
    """Return the seconds of one pass of each way; a measurement lasts at least `seconds`."""
    start = perf_counter()
    with _uncollected():
        best = {name: run(1) for name, run in ways.items()}  # which also warms up
        times = {name: max(1, ceil(seconds / max(once, 1e-9))) for name, once in best.items()}
        for count in range(_ROUNDS):
            if count >= _NEEDED and perf_counter() - start > _PATIENCE:
                break
            for name, run in ways.items():
                best[name] = min(best[name], run(times[name]) / times[name])
    return best


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector out of the way, as `timeit` does."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
