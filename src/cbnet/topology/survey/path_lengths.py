"""Distribution of the distances between nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cbnet.topology.graph.graph import Graph, Lengths
from cbnet.topology.graph.sampling import DEFAULT_SOURCES, Track, sample_sources
from cbnet.topology.trees.shortest_paths import distances

_BINS = 1024


@dataclass(frozen=True)
class PathLengths:
    """The distances from some nodes to all others that they reach, times the graph's `scale`."""

    sources: int
    pairs: int
    total: int  # of all distances
    longest: int  # if all nodes are sources, the diameter of the graph
    width: int  # of the bins: the smallest power of two with which they suffice
    counts: Lengths  # int64[bins]: pairs with distances from width * bin to width * (bin + 1) - 1

    @property
    def mean(self) -> float:
        """The average distance; 0 if there are no pairs."""
        return self.total / max(1, self.pairs)


def path_lengths(
    graph: Graph, *, sources: int | None = DEFAULT_SOURCES, seed: int = 0, track: Track = iter
) -> PathLengths:
    """Return the distances from `sources` random nodes to all others; None: from all nodes."""
    drawn = sample_sources(graph, sources, seed)
    pairs = total = longest = 0
    width, counts = 1, np.zeros(_BINS, dtype=np.int64)
    for source in track(drawn):
        row = distances(graph, [source])[0]
        row = row[row > 0]
        pairs += len(row)
        total += int(row.sum())
        longest = max(longest, int(row.max(initial=0)))
        while longest >= width * _BINS:
            width, counts = width * 2, np.concatenate([counts.reshape(-1, 2).sum(axis=1), np.zeros(_BINS // 2, int)])
        counts += np.bincount(row // width, minlength=_BINS)
    return PathLengths(len(drawn), pairs, total, longest, width, counts)


def average_distance(graph: Graph, *, sources: int | None = DEFAULT_SOURCES, seed: int = 0) -> float:
    """Return the average distance between nodes, in the unit of the original weights."""
    return path_lengths(graph, sources=sources, seed=seed).mean / graph.scale
