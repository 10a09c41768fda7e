"""Connected components of a graph."""

from __future__ import annotations

import numpy as np

from cbnet.topology.graph.graph import Graph, Ids
from cbnet.topology.graph.traversal import UNREACHED, Traversal


def components(graph: Graph) -> list[Ids]:
    """Return the nodes of each component, ascending; largest component first, ties by the smallest node."""
    traversal = Traversal(graph.offsets, graph.targets, graph.weights[:0])
    parts = [np.sort(traversal.visit(root)) for root in range(len(graph)) if traversal.parents[root] == UNREACHED]
    return sorted(parts, key=len, reverse=True)


def largest_component(graph: Graph) -> Graph:
    """Return the graph of the largest component; of equal ones, that with the smallest node."""
    nodes = np.zeros(len(graph), dtype=bool)
    nodes[components(graph)[0]] = True
    return graph.part(nodes)
