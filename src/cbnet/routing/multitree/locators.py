"""Locators: how does a reply find the requester, if no router remembers the request?

The request carries where its requester is on the tree, and the reply goes there. [2014] does not say how; this is our
choice. The locator of a node is its place in the preorder of the tree, so what is below a node is an interval:

    u, 4 to 9                  children tile the interval of their parent:
    ├── v, 5 to 7              a router keeps where each child's part begins,
    └── w, 8 to 9              and its own beginning and end; all else is behind its parent

A router keeps an interval for each neighbour on the tree, and nothing for each request.
"""

from __future__ import annotations

import numpy as np

from cbnet.topology import ROOT, Tree


def locator(tree: Tree, u: int) -> int:
    """Return the locator of a node."""
    return int(tree.positions[u])


def next_hop(tree: Tree, u: int, place: int) -> int | None:
    """Return the neighbour of u toward the node of a locator; None if that is u."""
    first = int(tree.positions[u])
    if place == first:
        return None
    if not first < place < first + int(tree.sizes[u]):
        return int(tree.parents[u])
    children = tree.children(u)
    return int(children[np.searchsorted(tree.positions[children], place, side="right") - 1])


def identifiers(tree: Tree, u: int) -> int:
    """Return how many identifiers u keeps: both ends of its interval, its parent, and each child with its beginning."""
    return 2 + int(tree.parents[u] != ROOT) + 2 * len(tree.children(u))
