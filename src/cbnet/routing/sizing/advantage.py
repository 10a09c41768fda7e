"""Disjunction advantage α: the size of a disjunction over the total size of its parts [2006 §2.4, §4].

A router that stores the disjunction of n predicates needs α times the memory of storing each alone.

- In the *specific* model [§4.2] predicates are those of the language, and their size is the number
  of their constraints; a constraint repeated in a filter counts once. `Predicates` computes α of the first n of many.
- In the *general* model [§4.1] predicates are sets of k out of a universe of messages, and their size
  is the number of their messages. `expected` is the closed form, `Universe` draws.

"Size k" has two readings: k distinct messages, or k draws with possible repetition and
α still over nk. The closed form is that of k distinct messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.language.relations.reduction import Reduction, Rules, filter_size
from cbnet.matching.storage.arrow_filters import columns_from_arrow
from cbnet.matching.storage.columns import lengths_of

Distribution = Literal["uniform", "zipf"]
Reading = Literal["distinct", "draws"]
Messages: TypeAlias = NDArray[np.int64]
Draw: TypeAlias = Callable[[int], Messages]


class Predicates:
    """Predicates of one filter each, from a table with one row per constraint, in the order of their filters."""

    def __init__(self, filters: pa.Table) -> None:
        columns = columns_from_arrow(filters)
        self._filters = [columns.filter(row) for row in range(len(columns))]
        self._sizes = np.cumsum(lengths_of(columns.offsets))  # of the first one, the first two, ...

    def __len__(self) -> int:
        return len(self._sizes)

    def advantages(self, counts: Sequence[int], rules: Rules = "full") -> list[float]:
        """Return α of the first n predicates for each n in `counts`, which must rise; duplicate predicates count."""
        if list(counts) != sorted(counts) or not 1 <= min(counts, default=1) <= max(counts, default=1) <= len(self):
            raise InputError(f"counts of predicates must rise from 1 to at most {len(self):,}, not {list(counts)}")
        reduction = Reduction(self._filters, rules)
        advantages = []
        for count, needed in zip(counts, reduction.needed_of_first(counts), strict=True):
            left = sum(filter_size(reduction.filters[row]) for row in needed)
            advantages.append(float(left / self._sizes[count - 1]) if self._sizes[count - 1] else 1.0)
        return advantages


def expected(predicates: int, size: int, universe: int) -> float:
    """Return the expected α of n uniform predicates of k distinct messages: |M|/nk · (1 - (1 - k/|M|)^n) [§4.1]."""
    missed = predicates * math.log1p(-size / universe) if size < universe else -math.inf
    return -math.expm1(missed) * universe / (predicates * size)


@dataclass(frozen=True)
class Universe:
    """Messages, and the distribution by which predicates choose them: uniform, or Zipf with exponent 1."""

    messages: int
    distribution: Distribution = "uniform"

    def __post_init__(self) -> None:
        if self.messages < 1:
            raise InputError(f"a universe has at least one message, not {self.messages:,}")

    def advantages(self, size: int, counts: Sequence[int], reading: Reading, rng: Generator) -> list[float]:
        """Return α of the first n random predicates of a size, for each n in `counts`."""
        if not 1 <= size <= self.messages:
            raise InputError(f"a predicate cannot have {size:,} of {self.messages:,} messages")
        draw = self._draw(rng)
        count = max(counts)
        if reading == "draws":
            drawn = draw(count * size)
        else:
            room = np.zeros(self.messages, np.int64)
            drawn = np.concatenate([_distinct(draw, size, room) for _ in range(count)])
        met = np.sort(_first_draws(drawn, np.full(self.messages, len(drawn))))
        return [float(np.searchsorted(met, count * size)) / (count * size) for count in counts]

    def _draw(self, rng: Generator) -> Draw:
        if self.distribution == "uniform":
            return lambda count: rng.integers(self.messages, size=count)
        sums = np.cumsum(1 / np.arange(1.0, self.messages + 1))
        return lambda count: _zipf_ranks(rng.random(count) * sums[-1], sums)


def _zipf_ranks(points: NDArray[np.float64], sums: NDArray[np.float64]) -> Messages:
    """Return for each point the rank of the first harmonic sum above it, as `searchsorted` would.

    H(x) is close to ln x + 0.5772 + 1/2x, so the rank is estimated, never too high, and then raised. This takes
    a tenth of the time of a binary search among 10^6 sums, which misses the cache at every step.
    """
    ranks: Messages = np.maximum(np.exp(points - np.euler_gamma) * (1 - 1e-9) - 0.6, 0.0).astype(np.int64)
    np.minimum(ranks, len(sums) - 1, out=ranks)
    while np.any(low := sums[ranks] <= points):
        ranks += low
    return ranks


def _distinct(draw: Draw, size: int, room: Messages) -> Messages:
    """Return the first `size` distinct messages drawn; room: int64[messages], a scratch array."""
    drawn = draw(size)
    while True:
        distinct: Messages = drawn[_first_draws(drawn, room)[drawn] == np.arange(len(drawn))]
        if len(distinct) >= size:
            return distinct[:size]
        drawn = np.concatenate([distinct, draw(2 * (size - len(distinct)))])


def _first_draws(drawn: Messages, indices: Messages) -> Messages:
    """Write the index of the first draw of each message into `indices`; others are unchanged."""
    indices[drawn[::-1]] = np.arange(len(drawn))[::-1]  # the last write to an element wins
    return indices
