"""Classes of sources that are indistinguishable at a router [2006 §3.2].

Two sources v1 and v2 are indistinguishable at u if u has the same children in both trees, and each child the same
nodes below it. Trees are suffix-consistent (`topology.trees`): below u both follow the tree of u, so it is enough
that the same nodes are below u:

    v1 ~ v2 at u   iff   T_v1/u = T_v2/u

Children are in order of rising id, so equal sets have the same preorder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from cbnet.topology import Graph, Tree, shortest_path_trees


def class_of(tree: Tree, u: int) -> bytes:
    """Return the class of a tree's root at u: a digest of the nodes below u, instead of the set."""
    return blake2b(tree.descendants(u).tobytes(), digest_size=16).digest()


def classes_at(graph: Graph, routers: Sequence[int], sources: Iterable[int]) -> dict[int, list[list[int]]]:
    """Return the classes of sources at each of these routers; each tree is built once and not stored."""
    at_routers: dict[int, dict[bytes, list[int]]] = {u: {} for u in routers}
    for tree in shortest_path_trees(graph, sources):
        for u, classes in at_routers.items():
            classes.setdefault(class_of(tree, u), []).append(tree.root)
    return {u: list(classes.values()) for u, classes in at_routers.items()}
