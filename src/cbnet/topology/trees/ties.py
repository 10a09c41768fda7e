"""Rules for ties between shortest paths.

    smallest   the smallest parent at every node, as in `shortest_paths`
    random     a random parent at every node; equal roots have equal trees
    fresh      a random parent at every node, independently for every tree

[2014 §4.1] does not state its rule. Trees by the smallest parent agree wherever they can, so that a router
distinguishes fewer of them; fresh ones differ even if their roots are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from cbnet._kernels import tree_paths, tree_shortest
from cbnet.topology.graph.graph import Graph
from cbnet.topology.trees.shortest_paths import Tree, shortest_path_tree


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
    tree_paths.choose_parents(*graph.rows, tree.distances, key, parents)
    outwards = np.argsort(tree.distances[tree.preorder], kind="stable")
    tree_shortest.lay_out(parents, tree.preorder[outwards], preorder, positions, sizes, hops, np.empty_like(positions))
    return Tree(root, parents, preorder, positions, sizes, hops, tree.distances)


def _bits(seed: int, key: tuple[int, ...]) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0])
