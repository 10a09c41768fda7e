"""Statistics of k trees over many sources and selections of roots [2014 §4.1, Figures 4 and 5].

Statistics of parts, such as one selection or some sources, can be merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cbnet.topology.graph.graph import Lengths
from cbnet.topology.survey.stretch import ExtraLengths
from cbnet.topology.survey.value_counts import ValueCounts
from cbnet.topology.trees.ties import Ties

PERCENTILES = (1, 25, 50, 75, 99)  # the paper's box plots extend from the first to the last


@dataclass(frozen=True, eq=False)
class Stretch:
    """The extra lengths on k trees from some sources, times the graph's `scale`."""

    totals: ValueCounts  # of pairs: on all k trees together
    largest: ValueCounts  # of pairs: on the worst tree
    means: NDArray[np.float64]  # of sources: over trees and destinations
    means_largest: NDArray[np.float64]  # of sources: of the largest, over destinations

    @classmethod
    def of(cls, extra: ExtraLengths) -> Stretch:
        """Return the stretch from one source to all other nodes."""
        others = np.arange(len(extra.total)) != extra.source
        return cls(
            ValueCounts.of(extra.total[others]),
            ValueCounts.of(extra.largest[others]),
            np.array([extra.mean]),
            np.array([extra.mean_largest]),
        )

    @classmethod
    def merged(cls, parts: Sequence[Stretch]) -> Stretch:
        """Return the stretch from the sources of all parts."""
        return cls(
            ValueCounts.merged(part.totals for part in parts),
            ValueCounts.merged(part.largest for part in parts),
            np.concatenate([part.means for part in parts]),
            np.concatenate([part.means_largest for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class TreeStatistics:
    """Statistics of k trees, over one or more selections of roots."""

    ties: Ties
    k: int
    stretch: Stretch
    interfaces: ValueCounts  # distinct trees of each interface that some tree uses
    most: Lengths  # int64[selections]: the largest number of distinct trees at an interface
    links_used: Lengths  # int64[selections]
    mean_load: NDArray[np.float64]  # float64[selections], of the links used
    largest_load: NDArray[np.float64]  # float64[selections]

    @classmethod
    def merged(cls, parts: Sequence[TreeStatistics]) -> TreeStatistics:
        """Return the statistics over the selections of all parts, with equal rules of ties and k."""
        columns = ("most", "links_used", "mean_load", "largest_load")
        return cls(
            parts[0].ties,
            parts[0].k,
            Stretch.merged([part.stretch for part in parts]),
            ValueCounts.merged(part.interfaces for part in parts),
            *(np.concatenate([getattr(part, column) for part in parts]) for column in columns),
        )

    def members(self, *, nodes: int, links: int, scale: int) -> dict[str, Any]:
        """Return the members of the JSON object; lengths in the unit of the weights, loads as shares."""
        pairs = nodes * (nodes - 1)
        return {
            "ties": str(self.ties),
            "k": self.k,
            "selections": len(self.most),
            "sources": len(self.stretch.means),
            "extra_mean": {
                "pairs": _count_row(self.stretch.totals, self.k * scale),
                "sources": _number_row(self.stretch.means / scale),
            },
            "extra_worst": {
                "pairs": _count_row(self.stretch.largest, scale),
                "sources": _number_row(self.stretch.means_largest / scale),
            },
            "interfaces": {
                "used": self.interfaces.size / len(self.most),
                **_count_row(self.interfaces, 1),
                "largest": [int(self.most.min()), int(self.most.max())],
            },
            "load": {
                "links": links,
                "used": float(self.links_used.mean()),
                "mean": round(float(self.mean_load.mean() / pairs), 9),
                "largest": round(float(self.largest_load.mean() / pairs), 9),
            },
        }


def _count_row(counts: ValueCounts, unit: int) -> dict[str, float]:
    return _row(counts.mean / unit, [value / unit for value in counts.percentiles(PERCENTILES)])


def _number_row(numbers: NDArray[np.float64]) -> dict[str, float]:
    return _row(float(numbers.mean()), np.percentile(numbers, PERCENTILES, method="inverted_cdf").tolist())


def _row(mean: float, percentiles: Sequence[float]) -> dict[str, float]:
    ranked = zip(PERCENTILES, percentiles, strict=True)
    return {"mean": round(mean, 6), **{f"p{percent}": round(value, 6) for percent, value in ranked}}
