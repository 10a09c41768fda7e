"""Traffic over each link on k trees [2014 §3.1].

Every node sends one message to every other, n (n - 1) in all; each takes a random tree, all with the same chance. The
load of a link is the average number of messages that cross it. On one tree, all messages between the nodes below a
link and the others cross it, in both directions: 2 · size · (n - size) messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cbnet.topology.graph.graph import Graph
from cbnet.topology.trees.increments import tree_increments
from cbnet.topology.trees.links import interface_links, tree_links
from cbnet.topology.trees.shortest_paths import Tree


def link_load(graph: Graph, trees: Sequence[Tree], ks: Sequence[int] | None = None) -> Iterator[NDArray[np.float64]]:
    """Yield the load of each link, in the order of `Graph.edges`, 0 if no tree uses it: float64[m].

    On the first k trees, for each k; on all if `ks` is None.
    """
    links = interface_links(graph)
    crossed = np.zeros(graph.edge_count, dtype=np.int64)
    for k, added in tree_increments(graph, trees, ks):
        for tree in added:
            below = tree.sizes.astype(np.int64)
            by = tree_links(graph, tree, links)
            inner = by >= 0
            crossed[by[inner]] += (2 * below * (len(graph) - below))[inner]  # a tree uses a link at most once
        yield crossed / k
