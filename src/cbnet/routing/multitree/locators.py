"""Locators: addresses on a tree that lead a reply to the requester without state in routers.

A request carries the locator of its requester, and the reply is forwarded to it. [2014] leaves this open; this is our
choice. The locator of a node is its position in the preorder of the tree, so a subtree is an interval:

    u, 4 to 9                  children divide the interval of their parent:
    ├── v, 5 to 7              a router stores the start of each child's interval,
    └── w, 8 to 9              and both ends of its own; all else is behind its parent

A router stores an interval for each neighbour on the tree, and nothing for each request.
"""

from __future__ import annotations

import numpy as np

from cbnet.topology import ROOT, Tree


def locator(tree: Tree, u: int) -> int:
    """Return the locator of a node."""
    return int(tree.positions[u])


def next_hop(tree: Tree, u: int, locator: int) -> int | None:
    """Return the neighbour of u toward the node with a locator; None if that is u."""
    first = int(tree.positions[u])
    if locator == first:
        return None
    if not first < locator < first + int(tree.sizes[u]):
        return int(tree.parents[u])
    children = tree.children(u)
    return int(children[np.searchsorted(tree.positions[children], locator, side="right") - 1])


def identifiers(tree: Tree, u: int) -> int:
    """Return the number of identifiers that u stores: its interval, its parent, and each child with its start."""
    return 2 + int(tree.parents[u] != ROOT) + 2 * len(tree.children(u))
