"""Layout of a graph in the plane: nodes that few hops separate are close to each other.

The stress of a layout is the sum, over all pairs of nodes, of the squared difference between their distance in the
plane and their hops in the graph, divided by the squared hops. Starting from principal components, each step moves all
nodes to the minimum of a quadratic bound of the stress (majorization), so the stress never increases.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology import Graph, distances

Positions: TypeAlias = NDArray[np.float64]  # float64[n, 2]

_MAX_NODES = 500
_STEPS = 200


def layout(graph: Graph) -> Positions:
    """Return a position for each node; neighbours are about 1 apart."""
    if len(graph) > _MAX_NODES:  # more would not be legible
        raise InputError(f"cannot draw {len(graph):,} nodes: the limit is {_MAX_NODES}")
    if len(graph) == 1:
        return np.zeros((1, 2))
    unit = replace(graph, weights=np.ones_like(graph.weights))
    hops = distances(unit, range(len(graph))).astype(np.float64)
    weights = np.where(hops > 0, hops, np.inf) ** -2.0
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=0)) - weights)
    positions: Positions = _first(hops)
    for _ in range(_STEPS):
        positions = np.matmul(inverse, _pull(positions, hops, weights))
    width, height = np.ptp(positions, axis=0)
    return positions if width >= height else positions[:, ::-1]


def _first(hops: Positions) -> Positions:
    """Return the two principal components, with noise: leaves of one node would otherwise coincide."""
    centred = hops**2 - (hops**2).mean(axis=0)
    values, vectors = np.linalg.eigh(-0.5 * (centred - centred.mean(axis=1, keepdims=True)))
    plane: Positions = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    return plane + np.random.default_rng(0).normal(scale=0.01, size=(len(hops), 2))


def _pull(positions: Positions, hops: Positions, weights: Positions) -> Positions:
    """Return the sum of the forces on each node: every other node pulls or pushes it to its distance in hops."""
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(apart, 1.0)
    forces = weights * hops / np.maximum(apart, 1e-9)
    total: Positions = forces.sum(axis=1)[:, None] * positions - forces @ positions
    return total
