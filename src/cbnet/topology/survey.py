"""Survey of the costs and gains of k trees on a graph [2014 §4.1, Figures 4 and 5].

Roots are selected several times. Selections are independent: seed and number determine the roots, sources and
random ties of each. So selections, and the sources of one, can be surveyed anywhere, and their statistics merged.

All k are surveyed in one pass: smaller k use the first of the trees of the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology.as_classes import draw_roots, root_classes
from cbnet.topology.graph import Graph, Lengths
from cbnet.topology.shortest_paths import Ties, Tree, tied_trees
from cbnet.topology.traversal import check_seed, sample_sources
from cbnet.topology.tree_measures import ExtraLengths, distinct_trees, extra_lengths, link_load

PERCENTILES = (1, 25, 50, 75, 99)  # the paper's box plots extend from the first to the last


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """A distribution of integers: the number of occurrences of each value.

    Small if the integers repeat, as hops do, and exact: the counts of parts can be merged.
    """

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
        """Return, for each percentage, the smallest value that at least this share of the values does not exceed."""
        if not len(self.values):
            return [0 for _ in percents]
        cumulative = np.cumsum(self.counts)
        ranks = [max(1, -(-percent * self.size // 100)) for percent in percents]
        return [int(value) for value in self.values[np.searchsorted(cumulative, ranks)]]


@dataclass(frozen=True, eq=False)
class PathStretch:
    """The extra lengths on k trees from some sources, times the graph's `scale`."""

    totals: ValueCounts  # of pairs: on all k trees together
    largest: ValueCounts  # of pairs: on the worst tree
    means: NDArray[np.float64]  # of sources: over trees and destinations
    means_largest: NDArray[np.float64]  # of sources: of the largest, over destinations

    @classmethod
    def of(cls, extra: ExtraLengths) -> PathStretch:
        """Return the stretch from one source to all other nodes."""
        others = np.arange(len(extra.total)) != extra.source
        return cls(
            ValueCounts.of(extra.total[others]),
            ValueCounts.of(extra.largest[others]),
            np.array([extra.mean]),
            np.array([extra.mean_largest]),
        )

    @classmethod
    def merged(cls, parts: Sequence[PathStretch]) -> PathStretch:
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
    stretch: PathStretch
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
            PathStretch.merged([part.stretch for part in parts]),
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


Selection: TypeAlias = Callable[[], list[TreeStatistics]]


def survey(
    graph: Graph,
    ks: Sequence[int],
    *,
    ties: Sequence[Ties] = (Ties.SMALLEST,),
    sources: int | None = 200,
    selections: int = 20,
    seed: int = 0,
    done: Callable[[], object] = lambda: None,
    run: Callable[[Sequence[Selection]], list[list[TreeStatistics]]] | None = None,
) -> list[TreeStatistics]:
    """Return the statistics for each rule of ties and each k, over all selections.

    Each selection measures paths from `sources` random nodes, or from all if it is None; `done` is called after each.
    `run` calls the selections in other processes, and returns their results in order.
    """
    check_seed(seed)
    if selections < 1:
        raise InputError(f"the number of selections must be at least 1, not {selections}")
    classes = root_classes(graph)
    statistics = []
    for rule in ties:
        survey_one = partial(survey_selection, graph, classes, ks, rule, sources=sources, seed=seed, done=done)
        calls = [partial(survey_one, selection=selection) for selection in range(selections)]
        parts = run(calls) if run else [call() for call in calls]
        statistics += [TreeStatistics.merged(of_k) for of_k in zip(*parts, strict=True)]
    return statistics


def survey_selection(
    graph: Graph,
    classes: NDArray[np.int8],
    ks: Sequence[int],
    ties: Ties,
    *,
    sources: int | None,
    seed: int,
    selection: int,
    done: Callable[[], object] = lambda: None,
) -> list[TreeStatistics]:
    """Return the statistics for each k of one selection of roots, drawn by the nodes' `classes`, int8[n]."""
    if len(graph) < 2:
        raise InputError("the graph has one node, so there are no paths")
    of_roots, of_sources, of_ties = (
        int(state) for state in np.random.SeedSequence(seed, spawn_key=(selection,)).generate_state(3, np.uint64)
    )
    trees = tied_trees(graph, draw_roots(classes, max(ks), seed=of_roots).tolist(), ties, seed=of_ties)
    stretches = survey_stretch(graph, trees, ks, sample_sources(graph, sources, of_sources), done)
    rows = zip(ks, stretches, distinct_trees(graph, trees, ks), link_load(graph, trees, ks), strict=True)
    return [
        TreeStatistics(
            ties=ties,
            k=k,
            stretch=stretch,
            interfaces=ValueCounts.of(sets[sets > 0]),
            most=np.array([sets.max()], dtype=np.int64),
            links_used=np.array([(load > 0).sum()]),
            mean_load=np.array([load[load > 0].mean()]),
            largest_load=np.array([load.max()]),
        )
        for k, stretch, sets, load in rows
    ]


def survey_stretch(
    graph: Graph,
    trees: Sequence[Tree],
    ks: Sequence[int],
    sources: Sequence[int],
    done: Callable[[], object] = lambda: None,
) -> list[PathStretch]:
    """Return the stretch of the first k trees from these sources, for each k."""
    parts: list[list[PathStretch]] = []
    for source in sources:
        parts.append([PathStretch.of(extra) for extra in extra_lengths(graph, trees, source, ks)])
        done()
    return [PathStretch.merged(of_k) for of_k in zip(*parts, strict=True)]
