"""Distribution of integers as counts of distinct values, with percentiles.

Small if the integers repeat, as hops do, and exact: the counts of parts can be merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cbnet.topology.graph.graph import Lengths


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The number of occurrences of each value."""

    values: Lengths  # int64[v], ascending, each once
    counts: Lengths  # int64[v], all above 0

    @classmethod
    def of(cls, values: NDArray[np.integer]) -> ValueCounts:
        """Return the counts of non-negative values."""
        if len(values) and values.max() < 4 * len(values):  # then a bin for each value costs less than sorting
            counts = np.bincount(values)
            distinct = np.flatnonzero(counts)
            return cls(distinct, counts[distinct])
        return cls(*np.unique(values.astype(np.int64), return_counts=True))

    @classmethod
    def merged(cls, parts: Iterable[ValueCounts]) -> ValueCounts:
        """Return the counts of all values of the parts together."""
        merged = [*parts]
        values = np.concatenate([np.empty(0, dtype=np.int64), *(part.values for part in merged)])
        distinct, indices = np.unique(values, return_inverse=True)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, indices, np.concatenate([values[:0], *(part.counts for part in merged)]))
        return cls(distinct, counts)

    @property
    def size(self) -> int:
        """The number of values, repeated ones included."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The average; 0 if there are no values."""
        return float(self.values @ self.counts) / max(1, self.size)

    def percentiles(self, percents: Sequence[int]) -> list[int]:
        """Return, for each percentage, the smallest value that at least so many percent do not exceed."""
        if not len(self.values):
            return [0 for _ in percents]
        cumulative = np.cumsum(self.counts)
        ranks = [max(1, -(-percent * self.size // 100)) for percent in percents]
        return [int(value) for value in self.values[np.searchsorted(cumulative, ranks)]]
