"""Lengths of the shortest paths of a graph."""

from __future__ import annotations

from dataclasses import dataclass

from cbnet.topology.graph import Graph
from cbnet.topology.shortest_paths import distances
from cbnet.topology.traversal import DEFAULT_SOURCES, sample_sources


@dataclass(frozen=True)
class PathLengths:
    """The distances from some nodes to all others that they reach, times the graph's `scale`."""

    sources: int
    pairs: int
    total: int  # of all distances
    longest: int  # if all nodes are sources, the diameter of the graph

    @property
    def mean(self) -> float:
        """The average distance; 0 if there are no pairs."""
        return self.total / max(1, self.pairs)


def path_lengths(graph: Graph, *, sources: int | None = DEFAULT_SOURCES, seed: int = 0) -> PathLengths:
    """Return the distances from `sources` random nodes to all others; None: from all nodes."""
    drawn = sample_sources(graph, sources, seed)
    pairs = total = longest = 0
    for source in drawn:
        row = distances(graph, [source])[0]
        row = row[row > 0]
        pairs += len(row)
        total += int(row.sum())
        longest = max(longest, int(row.max(initial=0)))
    return PathLengths(len(drawn), pairs, total, longest)


def average_distance(graph: Graph, *, sources: int | None = DEFAULT_SOURCES, seed: int = 0) -> float:
    """Return the average distance between nodes, in the unit of the original weights."""
    return path_lengths(graph, sources=sources, seed=seed).mean / graph.scale
