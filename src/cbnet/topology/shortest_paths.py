"""Shortest-path trees, with rules for ties, and the links that they use.

A tree holds the shortest paths from its root. Ties are broken by one of three rules:

    smallest   the parent of x in the tree of v is the smallest id p among the neighbours of x with
               dist(v, p) + w(p, x) = dist(v, x); the default
    random     a random parent at every node; equal roots have equal trees
    fresh      a random parent at every node, independently for every tree

[2014 §4.1] does not state its rule. Trees by the smallest parent agree wherever they can, so that a router
distinguishes fewer of them; fresh ones differ even if their roots are equal.

The smallest parent is suffix-consistent: inside the tree of v, the part below u follows the tree of u. A router can
therefore forward a message from v along its own tree, below itself in the tree of v.

    Proof. Let u be above x in the tree of v, so dist(v, x) = dist(v, u) + dist(u, x), and let P(v) and P(u)
    be the candidates for the parent of x in the two trees.
    - P(u) is a part of P(v): for p in P(u), dist(v, p) + w(p, x) <= dist(v, u) + dist(u, p) + w(p, x)
      = dist(v, u) + dist(u, x) = dist(v, x), and it cannot be less.
    - The parent q of x in the tree of v is in P(u): q is u or lies below u, so
      dist(u, q) + w(q, x) = dist(v, q) - dist(v, u) + w(q, x) = dist(v, x) - dist(v, u) = dist(u, x).
    So q, the smallest of P(v), is the smallest of P(u) as well: x has the same parent in both trees. The same
    holds for q, and so on up to u.

A link is an edge of the graph; links are numbered from 0 to m - 1 in the order of `Graph.edges`. An interface
is one end of a link, from a router to one neighbour; interfaces are numbered from 0 to 2m - 1 as
`Graph.targets`, router by router.

The paths are computed by a kernel; `tests/support/graph_reference.py` is the same in plain Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from cbnet._kernels import tree_paths as kernel
from cbnet.errors import InputError
from cbnet.topology.graph import Graph, Ids, Lengths
from cbnet.topology.traversal import UNREACHED, Traversal

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
        if self.parents[x] == UNREACHED:
            raise InputError(f"node {x} is not reached from node {self.root}")
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


class Ties(StrEnum):
    """A rule for ties between shortest paths."""

    SMALLEST = "smallest"
    RANDOM = "random"
    FRESH = "fresh"


def tied_trees(graph: Graph, roots: Sequence[int], ties: Ties = Ties.SMALLEST, *, seed: int = 0) -> list[Tree]:
    """Return the tree of each root; `seed` selects random ones. Fewer roots give the first of the same trees."""
    by_key: dict[tuple[int, ...], Tree] = {}
    keys = [(root, index) if ties is Ties.FRESH else (root,) for index, root in enumerate(roots)]
    for key in dict.fromkeys(keys):
        is_smallest = ties is Ties.SMALLEST
        by_key[key] = shortest_path_tree(graph, key[0]) if is_smallest else random_tree(graph, key[0], _bits(seed, key))
    return [by_key[key] for key in keys]


def random_tree(graph: Graph, root: int, key: int) -> Tree:
    """Return a random shortest-path tree of a root, selected by a 64-bit key."""
    tree = shortest_path_tree(graph, root)  # same distances, random parents, new layout
    parents, preorder = tree.parents.copy(), np.empty_like(tree.preorder)
    positions, sizes, hops = tree.positions.copy(), np.zeros_like(tree.sizes), tree.hops.copy()
    kernel.choose_parents(*graph.rows, tree.distances, key, parents)
    outwards = np.argsort(tree.distances[tree.preorder], kind="stable")
    kernel.lay_out(parents, tree.preorder[outwards], preorder, positions, sizes, hops, np.empty_like(positions))
    return Tree(root, parents, preorder, positions, sizes, hops, tree.distances)


def _bits(seed: int, key: tuple[int, ...]) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0])


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
    kernel.find_links(graph.offsets, graph.targets, links, tree.parents, parent_links)
    return parent_links
