"""Components: which parts of a graph hang together?"""

from __future__ import annotations

import numpy as np

from cbnet._kernels import trees as kernel
from cbnet.topology.graph import Graph, Ids


def components(graph: Graph) -> list[Ids]:
    """Return the nodes of each component, ascending; the largest component first, then by the smallest node."""
    n = len(graph)
    parents = np.full(n, -2, dtype=np.int32)
    distances = np.full(n, -1, dtype=np.int64)
    order = np.empty(n, dtype=np.int32)
    room = np.empty((2, n), dtype=np.int32)
    found: list[Ids] = []
    for root in range(n):
        if parents[root] == -2:
            reached = kernel.grow(
                graph.offsets, graph.targets, graph.weights[:0], root, parents, distances, order, room
            )
            found.append(np.sort(order[:reached]))
    return sorted(found, key=len, reverse=True)


def largest_component(graph: Graph) -> Graph:
    """Return the graph of the largest component; of several that are equally large, the one with the smallest node."""
    nodes = np.zeros(len(graph), dtype=bool)
    nodes[components(graph)[0]] = True
    return graph.part(nodes)
