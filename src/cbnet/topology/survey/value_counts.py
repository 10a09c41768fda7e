"""Counts of values: how are many whole numbers distributed, and which of them stands at a percentile?

Small where the numbers repeat, as hops do, and exact: the counts of parts of the work are merged to those of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbnet.topology.graph.graph import Lengths


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each value occurs."""

    values: Lengths  # int64[v], ascending, each once
    counts: Lengths  # int64[v], all above 0

    @classmethod
    def of(cls, values: NDArray[np.integer]) -> ValueCounts:
        """Return the counts of values, which are not negative."""
        if len(values) and values.max() < 4 * len(values):  # then a place for each costs less than to sort them
            counts = np.bincount(values)
            found = np.flatnonzero(counts)
            return cls(found, counts[found])
        return cls(*np.unique(values.astype(np.int64), return_counts=True))

    @classmethod
    def merged(cls, parts: Iterable[ValueCounts]) -> ValueCounts:
        """Return the counts of all values of the parts together."""
        chosen = [*parts]
        values = np.concatenate([np.empty(0, dtype=np.int64), *(part.values for part in chosen)])
        found, places = np.unique(values, return_inverse=True)
        counts = np.zeros(len(found), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([values[:0], *(part.counts for part in chosen)]))
        return cls(found, counts)

    @property
    def size(self) -> int:
        """How many values there are, repeated ones included."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The average; 0 if there are no values."""
        return float(self.values @ self.counts) / max(1, self.size)

    def percentiles(self, asked: Sequence[int]) -> list[int]:
        """Return, for each percentage, the smallest value that at least so many percent do not exceed."""
        if not len(self.values):
            return [0 for _ in asked]
        until = np.cumsum(self.counts)
        ranks = [max(1, -(-percent * self.size // 100)) for percent in asked]
        return [int(value) for value in self.values[np.searchsorted(until, ranks)]]
