"""Samples of source nodes for measures of graphs.

Measuring from all nodes of a large graph takes minutes; a few hundred random ones give almost the same result. With
a sample as large as the graph, all nodes are sources and the result is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from cbnet.errors import InputError
from cbnet.topology.graph.graph import Graph

DEFAULT_SOURCES = 500
Track = Callable[[list[int]], Iterable[int]]  # yields the sources, and may show progress


def check_seed(seed: int) -> None:
    """Raise an error for a negative seed."""
    if seed < 0:
        raise InputError(f"the seed must be an integer of at least 0, not {seed}")


def sample_sources(graph: Graph, count: int | None, seed: int) -> list[int]:
    """Return `count` distinct random nodes; all nodes if there are no more, or if it is None."""
    check_seed(seed)
    if count is None or count >= len(graph):
        return [*range(len(graph))]
    if count < 1:
        raise InputError(f"the number of sources must be at least 1, not {count}")
    drawn = np.random.default_rng(seed).choice(len(graph), count, replace=False)
    return [*map(int, np.sort(drawn))]
