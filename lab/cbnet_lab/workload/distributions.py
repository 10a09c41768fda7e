"""Random distributions of names, types, operators and values.

A `Draw` returns ranks, counted from 0, whatever they stand for. Three shapes occur
in the papers: uniform, Zipf [2002 §5.1] and "linear" [2001 §4.1].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Ranks: TypeAlias = NDArray[np.int32]
Weights: TypeAlias = NDArray[np.float64]
Draw: TypeAlias = Callable[[Generator, int], Ranks]

_KEYS = 1 << 20  # drawn at a time by `distinct`: 8 MiB


def uniform(count: int) -> Draw:
    """Return a draw of `count` equally likely ranks."""
    return lambda rng, size: rng.integers(count, size=size, dtype=np.int32)


def linear(count: int) -> Draw:
    """Return a draw of `count` ranks whose probability falls linearly from the first to the last.

    The smaller of two uniform ranks is r with probability (2(count - r) - 1) / count².
    """
    either = uniform(count)
    return lambda rng, size: np.minimum(either(rng, size), either(rng, size))


def weighted(weights: Weights) -> Draw:
    """Return a draw of ranks in proportion to their weights: float64[n]."""
    cumulated = np.cumsum(weights)
    cumulated /= cumulated[-1]  # the last is now exactly 1, above every draw from [0, 1)
    return lambda rng, size: np.searchsorted(cumulated, rng.random(size), side="right").astype(np.int32)


def zipf_weights(count: int, exponent: float) -> Weights:
    """Return the weights of a Zipf distribution, 1 / rank^exponent: float64[count]."""
    return np.arange(1, count + 1, dtype=np.float64) ** -exponent


def distinct(rng: Generator, weights: Weights, sizes: NDArray[np.int64]) -> Ranks:
    """Return sizes[i] distinct ranks for each i, one group after the other.

    Each group has the distribution of drawing by weight with rejection of repeated ranks. Instead of
    rejecting, each rank gets an exponential arrival time with its weight as rate, and the first to
    arrive are chosen: no loop over groups and no rejected draws.
    """
    step = max(1, _KEYS // len(weights))
    groups = [_race(rng, weights, sizes[start : start + step]) for start in range(0, len(sizes), step)]
    return np.concatenate(groups)


def _race(rng: Generator, weights: Weights, sizes: NDArray[np.int64]) -> Ranks:
    largest = int(sizes.max())
    times = rng.exponential(size=(len(sizes), len(weights))) / weights
    first = np.argpartition(times, largest - 1, axis=1)[:, :largest]
    order = np.argsort(np.take_along_axis(times, first, axis=1), axis=1)
    ranks = np.take_along_axis(first, order, axis=1)
    return ranks[np.arange(largest) < sizes[:, None]].astype(np.int32)
