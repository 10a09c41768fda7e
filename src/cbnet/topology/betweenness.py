"""Betweenness centrality of nodes.

The betweenness of a node is the share of the pairs of other nodes whose shortest paths lead through it; where
a pair has several, the share of these. Brandes' algorithm: from each source, the number of shortest paths is
counted outwards, then the dependencies on each node are summed inwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cbnet._kernels import tree_paths as kernel
from cbnet.topology.graph import Graph
from cbnet.topology.traversal import DEFAULT_SOURCES, Traversal, sample_sources


def betweenness(graph: Graph, *, sources: int | None = DEFAULT_SOURCES, seed: int = 0) -> NDArray[np.float64]:
    """Return the betweenness of each node, from 0 to 1: float64[n]; None: from all sources."""
    n = len(graph)
    totals = np.zeros(n, dtype=np.float64)
    paths = np.empty(n, dtype=np.longdouble)
    depend = np.empty(n, dtype=np.float64)
    rows = graph.rows
    traversal = Traversal(*rows)
    drawn = sample_sources(graph, sources, seed)
    for source in drawn:
        order = traversal.visit(source)
        kernel.add_dependencies(*rows, traversal.distances, order, paths, depend, totals)
        traversal.reset(order)
    pairs = len(drawn) * (n - 1) * (n - 2) / n  # the average number with a sampled source and no end at the node
    return totals / pairs if n > 2 else totals


def most_central(graph: Graph, *, sources: int | None = DEFAULT_SOURCES, seed: int = 0) -> int:
    """Return the node of the largest betweenness; of equal ones, apart from rounding errors, the smallest."""
    return int(np.argmax(np.round(betweenness(graph, sources=sources, seed=seed), 12)))
