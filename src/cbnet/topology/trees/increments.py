"""Increments of a list of trees, to measure several numbers of trees in one pass.

A measure for k trees uses the first k of a list, so each larger k only adds trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from cbnet.errors import InputError
from cbnet.topology.graph.graph import Graph
from cbnet.topology.trees.shortest_paths import Tree


def tree_increments(
    graph: Graph, trees: Sequence[Tree], ks: Sequence[int] | None
) -> Iterator[tuple[int, Sequence[Tree]]]:
    """Yield each k with the trees that it adds to those of the previous k; None stands for all trees at once.

    The numbers must ascend, and every tree must span the graph.
    """
    ends = [0, *([len(trees)] if ks is None else ks)]
    if any(one >= other for one, other in pairwise(ends)) or ends[-1] > len(trees):
        raise InputError(f"the numbers of trees must ascend from 1 to at most {len(trees)}, not {ends[1:]}")
    for tree in trees:
        if len(tree.preorder) < len(graph):
            hint = "use the largest component of the graph"
            raise InputError(f"the tree of {graph.name(tree.root)} does not reach all nodes", hint=hint)
    return ((k, trees[start:k]) for start, k in pairwise(ends))
