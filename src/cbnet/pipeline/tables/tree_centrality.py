"""Centrality of routers on a tree: the number of pairs of nodes whose path leads through a router [2014 §4.2.3].

The paper uses "the most central" router. The path between two nodes leads through a router if they are behind different
interfaces of it. With m nodes in total and s_i behind interface i, these are

    ((m - 1)² - Σ s_i²) / 2   pairs
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import Tree


def pairs_through(tree: Tree) -> NDArray[np.int64]:
    """Return the number of pairs of other nodes with a path through each node: int64[n]; 0 for unreached nodes."""
    sizes, reached = tree.sizes.astype(np.int64), len(tree.preorder)
    children = np.flatnonzero(tree.parents >= 0)
    squares = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(squares, tree.parents[children], sizes[children] ** 2)
    squares += (reached - sizes) ** 2
    return np.where(tree.positions >= 0, ((reached - 1) ** 2 - squares) // 2, 0)


def most_central_routers(tree: Tree) -> NDArray[np.int64]:
    """Return the nodes of a tree by falling number of pairs, then by rising id."""
    nodes = np.sort(tree.preorder).astype(np.int64)
    return nodes[np.argsort(-pairs_through(tree)[nodes], kind="stable")]
