"""Summary of a graph: its degrees, distances, components, bridges and most central nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from math import floor, log10
from typing import Any, TypeAlias

import numpy as np

from cbnet.topology.as_classes import AsClass, as_classes
from cbnet.topology.betweenness import betweenness, by_betweenness
from cbnet.topology.graph import Graph, Lengths
from cbnet.topology.shortest_paths import distances
from cbnet.topology.traversal import DEFAULT_SOURCES, Track, bridges, components, sample_sources

_BINS = 1024
Row: TypeAlias = dict[str, Any]
TrackStep: TypeAlias = Callable[..., Iterable[int]]  # takes sources and a `description`
_TOP = 10  # nodes and components
_MAX_BARS = 12  # of the histogram of distances


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


def summarise(
    graph: Graph,
    *,
    sources: int | None = DEFAULT_SOURCES,
    seed: int = 0,
    track: TrackStep | None = None,
) -> Row:
    """Return a summary of a graph as the members of a JSON object.

    Distances and betweenness are measured from `sources` random nodes; from all if it is None.
    """
    tracks = (partial(track, description=step) if track else iter for step in ("distances", "betweenness"))
    lengths = path_lengths(graph, sources=sources, seed=seed, track=next(tracks))
    through = betweenness(graph, sources=sources, seed=seed, track=next(tracks))
    classes = None if graph.relations is None else as_classes(graph)
    sizes = [len(nodes) for nodes in components(graph)]
    return {
        "nodes": len(graph),
        "edges": graph.edge_count,
        "repeated": graph.repeated,
        "weights": _weights(graph),
        "classes": None if classes is None else {kind.label: int((classes == kind).sum()) for kind in AsClass},
        "degrees": _degrees(graph),
        "distances": _distances(graph, lengths),
        "components": {"count": len(sizes), "sizes": sizes[:_TOP]},
        "bridges": len(bridges(graph)),
        "central": [
            {
                "node": graph.name(node),
                "betweenness": _rounded(float(through[node]), 6),
                "degree": int(graph.degrees[node]),
                "class": None if classes is None else AsClass(classes[node]).label,
            }
            for node in by_betweenness(through)[:_TOP].tolist()
        ],
    }


def _weights(graph: Graph) -> Row | None:
    """Return the range of the weights; None if all are 1."""
    if graph.is_unit:
        return None
    weights = graph.weights / graph.scale
    return {
        "smallest": float(weights.min()),
        "mean": _rounded(float(weights.mean()), 3),
        "largest": float(weights.max()),
    }


def _degrees(graph: Graph) -> Row:
    degrees = graph.degrees
    # 0, 1, 2, 3 to 4, 5 to 8 …: each bin twice as wide as the one before
    bins = np.ceil(np.log2(np.maximum(degrees, 1))).astype(np.int64) + (degrees > 0)
    counts = np.bincount(bins).tolist()
    ends = [0, *(2**bin for bin in range(len(counts) - 1))]
    rows = [
        {"from": 0 if index == 0 else ends[index - 1] + 1, "to": min(ends[index], int(degrees.max())), "nodes": count}
        for index, count in enumerate(counts)
        if count
    ]
    return {
        "smallest": int(degrees.min()),
        "median": float(np.median(degrees)),
        "mean": _rounded(float(degrees.mean()), 3),
        "largest": int(degrees.max()),
        "counts": rows,
    }


def _distances(graph: Graph, lengths: PathLengths) -> Row:
    scale = graph.scale
    together = -(-(lengths.longest // lengths.width + 1) // _MAX_BARS)  # bins per row
    bins = np.pad(lengths.counts, (0, -len(lengths.counts) % together)).reshape(-1, together).sum(axis=1)
    width = together * lengths.width
    return {
        "sources": lengths.sources,
        "exact": lengths.sources == len(graph),
        "mean": _rounded(lengths.mean / scale, 4),
        "longest": _length(lengths.longest, scale),
        "counts": [
            {
                "from": _length(max(1, index * width), scale),
                "to": _length(min((index + 1) * width - 1, lengths.longest), scale),
                "pairs": count,
            }
            for index, count in enumerate(bins.tolist())
            if count
        ],
    }


def _rounded(value: float, places: int) -> float:
    """Return a number rounded to some decimal places; to more if it would have fewer than four digits."""
    return round(value, max(places, 3 - floor(log10(value)))) if value > 0 else value


def _length(distance: int, scale: int) -> int | float:
    return distance if scale == 1 else distance / scale
