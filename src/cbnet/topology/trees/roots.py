"""Random roots of the trees of a network, by AS class [2014 §4.1].

A class is drawn for each tree, then a node of this class, both with replacement: 128 trees need about
51 Tier-1 ASes, and there are 18.

    Tier-1 40 %    Large 30 %    Small 20 %    Stub 10 %

A class without nodes is left out, and the others keep their proportions. In a graph without AS relations, the
classes go by degree, with about the shares of the ASes of June 2012: the nodes with most neighbours are Tier-1 up
to 0.05 % of all nodes, large up to 1.25 %, small up to 5 %, with at least one node in each class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology.graph.as_classes import AsClass, as_classes
from cbnet.topology.graph.graph import Graph, Ids
from cbnet.topology.graph.sampling import check_seed

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


def select_roots(graph: Graph, count: int | None, names: Sequence[str], seed: int) -> list[int]:
    """Return the named roots, or `count` random ones drawn by class (by default one)."""
    if names and count is not None:
        raise InputError("both a number of trees and their roots are given", hint="give one of them")
    if names:
        return [graph.id(name) for name in names]
    drawn: list[int] = draw_roots(root_classes(graph), count or 1, seed=seed).tolist()
    return drawn
