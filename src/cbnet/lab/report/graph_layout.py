"""Layout: where on a page does each node of a graph stand? Near each other those that few hops separate.

The stress of a layout is the sum, over all pairs of nodes, of the squared difference between their distance on the page
and their hops in the graph, each over the hops squared. From a first layout by principal components, every step moves
all nodes to where a quadratic bound of the stress is least (majorization), so the stress never grows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology import Graph, distances

Positions: TypeAlias = NDArray[np.float64]  # float64[n, 2]

_MOST_NODES = 500
_STEPS = 200


def check_drawable(graph: Graph) -> None:
    """Refuse a graph that would be a blot."""
    if len(graph) > _MOST_NODES:
        raise InputError(f"graphs of up to {_MOST_NODES} nodes can be drawn, and this one has {len(graph):,}")


def layout(graph: Graph) -> Positions:
    """Return a place for each node; neighbours are about 1 apart."""
    check_drawable(graph)
    if len(graph) == 1:
        return np.zeros((1, 2))
    hops = _hops(graph)
    weights = np.where(hops > 0, hops, np.inf) ** -2.0
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=0)) - weights)
    positions: Positions = _first(hops)
    for _ in range(_STEPS):
        positions = np.matmul(inverse, _pull(positions, hops, weights))
    width, height = np.ptp(positions, axis=0)
    return positions if width >= height else positions[:, ::-1]


def _hops(graph: Graph) -> Positions:
    unit = replace(graph, weights=np.ones_like(graph.weights))
    return distances(unit, range(len(graph))).astype(np.float64)


def _first(hops: Positions) -> Positions:
    """Return the two principal components, and a little noise: leaves of one node would stand in one place."""
    centred = hops**2 - (hops**2).mean(axis=0)
    values, vectors = np.linalg.eigh(-0.5 * (centred - centred.mean(axis=1, keepdims=True)))
    plane: Positions = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    return plane + np.random.default_rng(0).normal(scale=0.01, size=(len(hops), 2))


def _pull(positions: Positions, hops: Positions, weights: Positions) -> Positions:
    """Return the sum of the forces on each node, where all others pull or push to their distance."""
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(apart, 1.0)
    forces = weights * hops / np.maximum(apart, 1e-9)
    pulled: Positions = forces.sum(axis=1)[:, None] * positions - forces @ positions
    return pulled
