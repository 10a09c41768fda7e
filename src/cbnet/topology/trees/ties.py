"""Ties: which of its shortest-path trees does a root get?

    smallest   the smallest parent at every node, as in `trees`
    random     a parent is drawn at every node; a root that is drawn twice has the same tree twice
    fresh      the same, but every tree is drawn anew, whatever its root

[2014 §4.1] does not say how it decides. Trees by the smallest parent agree wherever they can, so that a
router can tell fewer of them apart; fresh ones differ even where their roots do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from cbnet._kernels import tree_paths
from cbnet._kernels import tree_shortest as trees
from cbnet.topology.graph.graph import Graph
from cbnet.topology.trees.shortest_paths import Tree, shortest_path_tree


class Ties(StrEnum):
    """How a tree decides between shortest paths."""

    SMALLEST = "smallest"
    RANDOM = "random"
    FRESH = "fresh"


def tied_trees(graph: Graph, roots: Sequence[int], ties: Ties = Ties.SMALLEST, *, seed: int = 0) -> list[Tree]:
    """Return the trees of the roots. `seed` chooses random ones; the first of many are those of fewer."""
    made: dict[tuple[int, ...], Tree] = {}
    found = []
    for place, root in enumerate(roots):
        which = (root, place) if ties is Ties.FRESH else (root,)
        if which not in made:
            smallest = ties is Ties.SMALLEST
            made[which] = shortest_path_tree(graph, root) if smallest else random_tree(graph, root, _key(seed, which))
        found.append(made[which])
    return found


def random_tree(graph: Graph, root: int, key: int) -> Tree:
    """Return a random tree of the shortest paths from a node; `key`, of 64 bits, chooses it."""
    tree = shortest_path_tree(graph, root)  # distances stay, parents are drawn, and all is laid out anew
    parents, preorder = tree.parents.copy(), np.empty_like(tree.preorder)
    positions, sizes, hops = tree.positions.copy(), np.zeros_like(tree.sizes), tree.hops.copy()
    tree_paths.choose_parents(*graph.rows, tree.distances, key, parents)
    outwards = np.argsort(tree.distances[tree.preorder], kind="stable")
    trees.lay_out(parents, tree.preorder[outwards], preorder, positions, sizes, hops, np.empty_like(positions))
    return Tree(root, parents, preorder, positions, sizes, hops, tree.distances)


def _key(seed: int, which: tuple[int, ...]) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=which).generate_state(1, np.uint64)[0])
