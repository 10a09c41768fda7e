"""Classes of ASes, and random roots of the trees of a network by class [2014 §4.1].

The customer tree of an AS is the set of ASes reachable from it over links from provider to customer, itself
excluded. Its size determines the class: 50 or more a large ISP, 5 to 49 a small one, fewer a stub.

The paper does not define Tier-1. Here: ASes without a provider, with a customer tree of 50 or more, that are all
neighbours of each other. In descending order of the customer tree (then ascending id), each joins if it is a
neighbour of all that joined before.

For each tree a class is drawn, then a node of this class, both with replacement: 128 trees need about
51 Tier-1 ASes, and there are 18.

    Tier-1 40 %    Large 30 %    Small 20 %    Stub 10 %

A class without nodes is left out, and the others keep their proportions. In a graph without AS relations, the
classes go by degree, with about the shares of the ASes of June 2012: the nodes with most neighbours are Tier-1 up
to 0.05 % of all nodes, large up to 1.25 %, small up to 5 %, with at least one node in each class.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology.edges import Relation
from cbnet.topology.graph import Graph, Ids, Lengths
from cbnet.topology.traversal import Traversal, check_seed

_LARGE, _SMALL = 50, 5  # smallest customer trees


class AsClass(IntEnum):
    """The class of an AS, from the core of the Internet outwards."""

    TIER_1 = 0
    LARGE = 1
    SMALL = 2
    STUB = 3

    @property
    def label(self) -> str:
        """The display name of the class."""
        return _LABELS[self]


_LABELS = {AsClass.TIER_1: "Tier-1", AsClass.LARGE: "Large", AsClass.SMALL: "Small", AsClass.STUB: "Stub"}


def as_classes(graph: Graph) -> NDArray[np.int8]:
    """Return the class of each AS, an `AsClass`: int8[n]."""
    sizes = customer_trees(graph)
    classes = np.full(len(graph), AsClass.STUB, dtype=np.int8)
    classes[sizes >= _SMALL] = AsClass.SMALL
    classes[sizes >= _LARGE] = AsClass.LARGE
    classes[_tier_1(graph, sizes)] = AsClass.TIER_1
    return classes


def customer_trees(graph: Graph) -> Lengths:
    """Return the size of the customer tree of each AS: int64[n]."""
    offsets, targets = _neighbours(graph, Relation.CUSTOMER)
    traversal = Traversal(offsets, targets, graph.weights[:0])
    sizes = np.zeros(len(graph), dtype=np.int64)
    for provider in np.flatnonzero(np.diff(offsets)).tolist():
        reached = traversal.visit(provider)
        sizes[provider] = len(reached) - 1
        traversal.reset(reached)
    return sizes


def _neighbours(graph: Graph, relation: Relation) -> tuple[Lengths, Ids]:
    """Return the neighbours of each AS with a relation: the offset of each row, and the rows."""
    if graph.relations is None:
        raise InputError(
            "the graph has no relations between ASes", hint="read a file of AS relations, or use aslike:1000"
        )
    chosen = graph.relations == relation
    return np.concatenate([[0], np.cumsum(chosen)])[graph.offsets], graph.targets[chosen]


def _tier_1(graph: Graph, sizes: Lengths) -> list[int]:
    providers, _ = _neighbours(graph, Relation.PROVIDER)
    candidates = np.flatnonzero((np.diff(providers) == 0) & (sizes >= _LARGE))
    joined: list[int] = []
    for candidate in candidates[np.argsort(-sizes[candidates], kind="stable")].tolist():
        if np.isin(joined, graph.neighbours(candidate)).all():
            joined.append(candidate)
    return joined


_CHANCES = {AsClass.TIER_1: 0.4, AsClass.LARGE: 0.3, AsClass.SMALL: 0.2, AsClass.STUB: 0.1}
_SHARES_BY_DEGREE = {AsClass.TIER_1: 0.0005, AsClass.LARGE: 0.0125, AsClass.SMALL: 0.05}  # cumulative


def root_classes(graph: Graph) -> NDArray[np.int8]:
    """Return the class of each node, an `AsClass`, by its customers or else by its degree: int8[n]."""
    return degree_classes(graph) if graph.relations is None else as_classes(graph)


def degree_classes(graph: Graph) -> NDArray[np.int8]:
    """Return the class of each node by the rank of its degree, ties by id: int8[n]."""
    ranked = np.argsort(-graph.degrees, kind="stable")
    classes = np.full(len(graph), AsClass.STUB, dtype=np.int8)
    start = 0
    for kind, share in _SHARES_BY_DEGREE.items():
        end = max(start + 1, round(share * len(graph)))
        classes[ranked[start:end]] = kind
        start = end
    return classes


def draw_roots(classes: NDArray[np.int8], count: int, *, seed: int = 0) -> Ids:
    """Return random roots by class, int8[n]: int32[count]. A smaller count gives the first of them."""
    if count < 1:
        raise InputError(f"the number of trees must be at least 1, not {count}")
    check_seed(seed)
    by_class = {kind: np.flatnonzero(classes == kind) for kind in _CHANCES}
    members = {kind: nodes for kind, nodes in by_class.items() if len(nodes)}
    chances = np.array([_CHANCES[kind] for kind in members])
    rng = np.random.default_rng(seed)
    kinds = (rng.choice([*members], p=chances / chances.sum()) for _ in range(count))
    return np.array([rng.choice(members[kind]) for kind in kinds], dtype=np.int32)
