"""Indistinguishable: which sources look alike from a router? [2006 §3.2]

Two sources v1 and v2 are indistinguishable at u if u has the same children in both trees, and each child the same
nodes below it. Trees are suffix-consistent (`topology.trees`): below u both follow the tree of u, so it is enough
that the same nodes lie below u:

    v1 ~ v2 at u   iff   T_v1/u = T_v2/u

and since children come by rising id, equal sets stand in preorder in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from cbnet.topology import Graph, Tree, shortest_path_trees


def class_of(tree: Tree, u: int) -> bytes:
    """Return the class of a tree's root at u: a digest of the nodes below u, so that no sets are kept."""
    return blake2b(tree.descendants(u).tobytes(), digest_size=16).digest()


def classes_at(graph: Graph, routers: Sequence[int], sources: Iterable[int]) -> dict[int, list[list[int]]]:
    """Return the classes of sources at each of some routers; each tree is grown once, and not kept."""
    found: dict[int, dict[bytes, list[int]]] = {u: {} for u in routers}
    for tree in shortest_path_trees(graph, sources):
        for u, classes in found.items():
            classes.setdefault(class_of(tree, u), []).append(tree.root)
    return {u: list(classes.values()) for u, classes in found.items()}
