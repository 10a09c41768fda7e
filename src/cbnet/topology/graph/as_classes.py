"""Classes of ASes: Tier-1, large ISP, small ISP, stub [2014 §4.1].

The customer tree of an AS is the set of ASes reachable from it over links from provider to customer, itself
excluded. Its size determines the class: 50 or more a large ISP, 5 to 49 a small one, fewer a stub.

The paper does not define Tier-1. Here: ASes without a provider, with a customer tree of 50 or more, that are all
neighbours of each other. In descending order of the customer tree (then ascending id), each joins if it is a
neighbour of all that joined before.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology.graph.edges import Relation
from cbnet.topology.graph.graph import Graph, Ids, Lengths
from cbnet.topology.graph.traversal import Traversal

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
    offsets, targets = _customers(graph)
    traversal = Traversal(offsets, targets, graph.weights[:0])
    sizes = np.zeros(len(graph), dtype=np.int64)
    for provider in np.flatnonzero(np.diff(offsets)).tolist():
        reached = traversal.visit(provider)
        sizes[provider] = len(reached) - 1
        traversal.reset(reached)
    return sizes


def _customers(graph: Graph) -> tuple[Lengths, Ids]:
    """Return the customers of each AS: the offset of each row, and the rows."""
    is_customer = _relations(graph) == Relation.CUSTOMER
    before = np.concatenate([[0], np.cumsum(is_customer)])
    return before[graph.offsets], graph.targets[is_customer]


def _tier_1(graph: Graph, sizes: Lengths) -> list[int]:
    providers = np.concatenate([[0], np.cumsum(_relations(graph) == Relation.PROVIDER)])[graph.offsets]
    candidates = np.flatnonzero((np.diff(providers) == 0) & (sizes >= _LARGE))
    joined: list[int] = []
    for candidate in candidates[np.argsort(-sizes[candidates], kind="stable")].tolist():
        if np.isin(joined, graph.neighbours(candidate)).all():
            joined.append(candidate)
    return joined


def _relations(graph: Graph) -> NDArray[np.int8]:
    if graph.relations is None:
        raise InputError(
            "the graph has no relations between ASes", hint="read a file of AS relations, or use aslike:1000"
        )
    return graph.relations
