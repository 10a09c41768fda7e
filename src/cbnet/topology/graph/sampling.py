"""Sources: from which nodes is a graph measured?

To measure from all nodes of a large graph takes minutes, and a few hundred, drawn at random, say almost the
same. A graph that has no more nodes than are asked for is measured from all: then the result is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from cbnet.errors import InputError
from cbnet.topology.graph.graph import Graph

DEFAULT_SOURCES = 500
Track = Callable[[list[int]], Iterable[int]]  # hands the sources on, and may show how far it is


def check_seed(seed: int) -> None:
    """Check that randomness can begin with this number."""
    if seed < 0:
        raise InputError(f"the seed must be an integer of at least 0, not {seed}")


def sample_sources(graph: Graph, count: int | None, seed: int) -> list[int]:
    """Return `count` different nodes, drawn at random; all if there are no more, or if it is None."""
    check_seed(seed)
    if count is None or count >= len(graph):
        return [*range(len(graph))]
    if count < 1:
        raise InputError(f"the number of sources must be at least 1, not {count}")
    drawn = np.random.default_rng(seed).choice(len(graph), count, replace=False)
    return [*map(int, np.sort(drawn))]
