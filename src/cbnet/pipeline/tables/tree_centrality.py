"""Central routers: between how many pairs of nodes does a router lie on a tree? [2014 §4.2.3]

The paper takes "the most central" router. On a tree, two nodes are joined by one path: it leads through a router if
they lie behind different interfaces of it. Of m nodes in all, and s_i behind interface i, that are

    ((m - 1)² - Σ s_i²) / 2   pairs
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cbnet.topology import Tree


def pairs_through(tree: Tree) -> NDArray[np.int64]:
    """Return how many pairs of other nodes each node lies between: int64[n]; 0 for nodes that are not reached."""
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
