"""Links of a graph that its trees use.

A link is an edge of the graph; links are numbered from 0 to m - 1 in the order of `Graph.edges`. An interface
is one end of a link, from a router to one neighbour; interfaces are numbered from 0 to 2m - 1 as
`Graph.targets`, router by router.
"""

from __future__ import annotations

import numpy as np

from cbnet._kernels import tree_paths
from cbnet.topology.graph.graph import Graph, Ids
from cbnet.topology.trees.shortest_paths import Tree


def interface_links(graph: Graph) -> Ids:
    """Return the link of each interface: int32[2m]."""
    routers = np.repeat(np.arange(len(graph)), graph.degrees)
    smaller, larger = np.minimum(routers, graph.targets), np.maximum(routers, graph.targets)
    order = np.lexsort((larger, smaller))  # now the two ends of a link are adjacent
    links = np.empty(len(order), dtype=np.int32)
    links[order] = np.arange(len(order)) // 2
    return links


def tree_links(graph: Graph, tree: Tree, links: Ids) -> Ids:
    """Return the link from each node to its parent, -1 at the root: int32[n]; `links` as from `interface_links`."""
    parent_links = np.empty(len(graph), dtype=np.int32)
    tree_paths.find_links(graph.offsets, graph.targets, links, tree.parents, parent_links)
    return parent_links
