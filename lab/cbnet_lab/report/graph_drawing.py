"""Drawings of a graph as SVG, with the delivery of a message on it.

Readable up to about 100 nodes. A name that fits is drawn inside its circle, a longer one below it; every label lies
inside the drawing. `graph.svg.jinja` has the shapes.

Nodes separated by few hops are drawn close together. The stress of a layout is the sum, over all pairs of nodes, of the
squared difference between their distance in the plane and their hops in the graph, divided by the squared hops.
Starting from principal components, each step moves all nodes to the minimum of a quadratic bound of the stress
(majorization), so the stress never increases.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeAlias
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from cbnet.errors import InputError
from cbnet.topology import Graph, distances
from cbnet_lab.report.page import template

Positions: TypeAlias = NDArray[np.float64]  # float64[n, 2]

_COLOURS = {
    "source": "#b3261e",
    "interested": "#1a7f37",
    "spurious": "#f0a63c",
    "forwarder": "#8fb4e3",
    "node": "#eceff3",
}
_MAX_NODES = 500
_STEPS = 200  # of the layout
_MAX_WEIGHTED = 30  # nodes; larger graphs have no room for weights beside the links
_MARGIN, _GAP = 30.0, 4.0
_LINK_LENGTH, _MAX_SIDE = 72.0, 1400.0


def draw_graph(
    graph: Graph,
    *,
    title: str,
    source: int | None = None,
    interested: Collection[int] = (),
    hops: Collection[tuple[int, int]] = (),
    spurious: Collection[int] = (),
    positions: Positions | None = None,
) -> str:
    """Return a drawing of a graph and of the delivery of a message.

    hops: the links that the message took, from sender to receiver.
    spurious: nodes that received the message without being interested.
    positions: a position for each node, with neighbours about 1 apart; None to compute a layout.
    """
    radius = max(8.0, 14.0 - len(graph) * 0.06)
    size = min(12.0, radius)
    names = [_printable(str(graph.name(u))) for u in range(len(graph))]
    widths = np.array([_text_width(name, size) for name in names])
    fits = widths <= 2 * radius
    points = _scaled(layout(graph) if positions is None else positions, radius, float(np.median(widths)))
    # Names at the left and right edge may reach further out than their circles.
    left = max(_MARGIN, float((widths / 2 - points[:, 0]).max()) + _GAP)
    points = points + np.array([left, _MARGIN])
    right = max(points[:, 0].max() + _MARGIN, (points[:, 0] + widths / 2).max() + _GAP)
    groups = {"source": {source}, "interested": interested, "spurious": spurious, "forwarder": {w for _, w in hops}}
    kinds = [kind for kind in groups if spurious or kind != "spurious"]
    kind_of = [next((kind for kind in groups if u in groups[kind]), "node") for u in range(len(graph))]
    is_weighted = len(graph) <= _MAX_WEIGHTED and not graph.is_unit
    edges = list(graph.edges())
    return template("report/graph.svg.jinja", {"px": lambda length: f"{length:.1f}"}).render(
        title=_printable(title), width=max(right, 40.0 + 100 * len(kinds)), radius=radius, size=size, kinds=kinds,
        height=points[:, 1].max() + _MARGIN + (0.0 if fits.all() else size), colours=_COLOURS,
        links=[(points[u], points[v]) for u, v, _ in edges],
        arrows=[_arrow(points[u], points[v], radius) for u, v in sorted(hops)],
        weights=[(_beside(points[u], points[v]), f"{w / graph.scale:g}") for u, v, w in edges if is_weighted],
        nodes=list(zip(points, names, kind_of, fits, strict=True)),
    )  # fmt: skip


def _arrow(start: Positions, end: Positions, radius: float) -> tuple[Positions, Positions]:
    """Return the ends of an arrow from rim to rim."""
    step = (end - start) / max(1e-9, float(np.hypot(*(end - start))))
    return start + step * radius, end - step * (radius + 5)


def _beside(start: Positions, end: Positions) -> Positions:
    """Return the position of a weight: above the middle of a link."""
    across = np.array([start[1] - end[1], end[0] - start[0]]) / max(1e-9, float(np.hypot(*(end - start))))
    place: Positions = (start + end) / 2 + across * (-9 if across[1] > 0 else 9) + np.array([0, 4])
    return place


def _scaled(positions: Positions, radius: float, name_width: float) -> Positions:
    """Return the positions in pixels from the upper left node, far enough apart that few circles and names overlap."""
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    close = np.percentile(apart.min(axis=0), 10) if len(positions) > 1 else 1.0
    unit = max(_LINK_LENGTH, name_width, 2.5 * radius / max(1e-9, float(close)))
    unit = min(unit, _MAX_SIDE / max(1.0, float(np.ptp(positions, axis=0).max())))
    scaled: Positions = (positions - positions.min(axis=0)) * unit
    return scaled


def _text_width(text: str, size: float) -> float:
    """Return the width of a text in pixels; in DejaVu Sans, as most sans-serif fonts are narrower."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in "mwMW@%" or east_asian_width(letter) in "WF":
        return 1.0
    return 0.8 if letter.isupper() or not letter.isascii() else 0.65


def _printable(text: str) -> str:
    """Replace characters that XML cannot hold: control characters and lone surrogates."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


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
