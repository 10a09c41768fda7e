"""Shortest-path trees.

A tree holds the shortest paths from its root. Ties are broken by one rule: the parent of x
in the tree of v is the smallest id p among the neighbours of x with dist(v, p) + w(p, x) = dist(v, x).

The rule is suffix-consistent: inside the tree of v, the part below u follows the tree of u. A router can
therefore forward a message from v along its own tree, below itself in the tree of v.

    Proof. Let u be above x in the tree of v, so dist(v, x) = dist(v, u) + dist(u, x), and let P(v) and P(u)
    be the candidates for the parent of x in the two trees.
    - P(u) is a part of P(v): for p in P(u), dist(v, p) + w(p, x) <= dist(v, u) + dist(u, p) + w(p, x)
      = dist(v, u) + dist(u, x) = dist(v, x), and it cannot be less.
    - The parent q of x in the tree of v is in P(u): q is u or lies below u, so
      dist(u, q) + w(q, x) = dist(v, q) - dist(v, u) + w(q, x) = dist(v, x) - dist(v, u) = dist(u, x).
    So q, the smallest of P(v), is the smallest of P(u) as well: x has the same parent in both trees. The same
    holds for q, and so on up to u.

The paths are computed by a kernel; `tests/support/graph_reference.py` is the same in plain Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cbnet._kernels import tree_shortest as kernel
from cbnet.errors import InputError
from cbnet.topology.graph.graph import Graph, Ids, Lengths
from cbnet.topology.graph.traversal import UNREACHED, Traversal

ROOT = -1


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A rooted spanning tree of the root's component.

    In preorder a node comes before all that is below it, and children in ascending order:

        preorder   root  a  a's first child  …  a's last  b  …      int32[reached]
                         └──── sizes[a] nodes: a and all below ───┘
    """

    root: int
    parents: Ids  # int32[n]; ROOT at the root, UNREACHED outside its component
    preorder: Ids  # int32[reached]
    positions: Ids  # int32[n], of each node in preorder; -1 if not reached
    sizes: Ids  # int32[n], of the subtree of each node; 0 if not reached
    hops: Ids  # int32[n], from the root; -1 if not reached
    distances: Lengths  # int64[n], from the root; -1 if not reached

    def __repr__(self) -> str:
        return f"<Tree of {len(self.preorder):,} nodes from {self.root}>"

    def children(self, u: int) -> Ids:
        """Return the children of a node, ascending."""
        offsets, children = self._children
        return children[offsets[u] : offsets[u + 1]]

    def descendants(self, u: int) -> Ids:
        """Return a node and all below it: a view of the preorder."""
        return self.preorder[self.positions[u] : self.positions[u] + self.sizes[u]]

    def is_below(self, u: int, x: int) -> bool:
        """Return whether x is u or a descendant of u."""
        return bool(0 <= self.positions[x] - self.positions[u] < self.sizes[u])

    def path(self, x: int) -> list[int]:
        """Return the nodes from the root to x, both included."""
        self._check_reached(x)
        path = [x]
        while path[-1] != self.root:
            path.append(int(self.parents[path[-1]]))
        return path[::-1]

    def child_toward(self, u: int, x: int) -> int:
        """Return the child of u whose subtree holds x, a proper descendant of u."""
        if x == u or not self.is_below(u, x):
            raise InputError(f"node {x} is not below node {u} in the tree of {self.root}")
        children = self.children(u)  # their positions ascend too
        return int(children[np.searchsorted(self.positions[children], self.positions[x], side="right") - 1])

    @cached_property
    def _children(self) -> tuple[Lengths, Ids]:
        """The offset of each node's children, and all children, node by node."""
        parents = self.parents
        children = np.argsort(parents, kind="stable").astype(np.int32)[np.count_nonzero(parents < 0) :]
        counts = np.bincount(parents[children], minlength=len(parents))
        return np.concatenate([[0], np.cumsum(counts)]), children

    def _check_reached(self, x: int) -> None:
        if self.parents[x] == UNREACHED:
            raise InputError(f"node {x} is not reached from node {self.root}")


def shortest_path_tree(graph: Graph, root: int) -> Tree:
    """Return the shortest-path tree of a root."""
    return next(shortest_path_trees(graph, [root]))


def shortest_path_trees(graph: Graph, roots: Iterable[int]) -> Iterator[Tree]:
    """Yield the tree of each root; `parents` is cheaper if only these are needed."""
    n = len(graph)
    buffer = np.empty(n, dtype=np.int32)
    for root in _checked(graph, roots).tolist():
        traversal = Traversal(*graph.rows)
        order = traversal.visit(root)
        preorder = np.empty_like(order)
        positions, hops = np.full((2, n), -1, dtype=np.int32)
        sizes = np.zeros(n, dtype=np.int32)
        kernel.lay_out(traversal.parents, order, preorder, positions, sizes, hops, buffer)
        yield Tree(root, traversal.parents, preorder, positions, sizes, hops, traversal.distances)


def distances(graph: Graph, sources: Sequence[int]) -> Lengths:
    """Return the distances from each source: int64[sources, n]; -1 where there is no path."""
    rows = np.empty((len(sources), len(graph)), dtype=np.int64)
    _grow_many(graph, sources, np.empty((1, len(graph)), dtype=np.int32), rows)
    return rows


def parents(graph: Graph, sources: Sequence[int]) -> Ids:
    """Return the parents in the tree of each source: int32[sources, n], as in `Tree.parents`."""
    rows = np.empty((len(sources), len(graph)), dtype=np.int32)
    _grow_many(graph, sources, rows, np.empty((1, len(graph)), dtype=np.int64))
    return rows


def _grow_many(graph: Graph, sources: Sequence[int], parents: Ids, distances: Lengths) -> None:
    buffer = np.empty((3, len(graph)), dtype=np.int32)
    kernel.grow_many(*graph.rows, _checked(graph, sources), parents, distances, buffer)


def _checked(graph: Graph, roots: Iterable[int]) -> Ids:
    ids = np.array([*roots], dtype=np.int64)
    if ((ids < 0) | (ids >= len(graph))).any():
        raise InputError(f"a root must be a node from 0 to {len(graph) - 1}")
    return ids.astype(np.int32)
