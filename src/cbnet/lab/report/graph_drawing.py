"""Graph drawing: which way did a message take? A graph as SVG, with a delivery tree on it.

Readable to about 100 nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from html import escape

import numpy as np

from cbnet.lab.report.graph_layout import Positions, layout
from cbnet.topology import Graph

_COLOURS = {
    "source": "#b3261e",
    "interested": "#1a7f37",
    "spurious": "#f0a63c",
    "passed": "#8fb4e3",
    "node": "#eceff3",
}
_LINK, _WAY, _TEXT = "#c3c9d2", "#1f5fbf", "#1c2430"
_FEW = 30  # nodes that have room for weights beside the links
_MARGIN, _LEGEND = 30.0, 30.0
_LINK_LENGTH, _LONGEST_SIDE = 72.0, 1400.0


def draw_graph(
    graph: Graph,
    *,
    title: str,
    source: int | None = None,
    interested: Collection[int] = (),
    ways: Collection[tuple[int, int]] = (),
    spurious: Collection[int] = (),
    positions: Positions | None = None,
) -> str:
    """Return a drawing: links, the source of a message, who is interested in it, and the ways that it went.

    `ways` are links from sender to receiver; `spurious` are nodes that were reached in vain. `positions` has a place
    for each node; neighbours are about 1 apart.
    """
    radius = max(8.0, 14.0 - len(graph) * 0.06)
    places = _placed(layout(graph) if positions is None else positions, radius)
    width, height = places.max(axis=0) + _MARGIN
    drawing = _Drawing(graph, places, radius)
    shown: dict[str, Collection[int | None]] = {
        "source": {source},
        "interested": set(interested),
        "spurious": set(spurious),
        "passed": {w for _, w in ways},
    }
    kinds = [kind for kind in shown if spurious or kind != "spurious"]
    lines = [*drawing.links(), *drawing.ways(ways), *drawing.weights(), *drawing.nodes(shown), *_legend(height, kinds)]
    return "\n".join([_head(title, max(width, 40.0 + 100 * len(kinds)), height + _LEGEND), *lines, "</svg>", ""])


class _Drawing:
    """The parts of a drawing, one line of SVG each."""

    def __init__(self, graph: Graph, places: Positions, radius: float) -> None:
        self._graph = graph
        self._places = places
        self._radius = radius

    def links(self) -> Iterator[str]:
        """Yield the links."""
        for u, v, _ in self._graph.edges():
            (x1, y1), (x2, y2) = self._places[u], self._places[v]
            yield f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_LINK}"/>'

    def weights(self) -> Iterator[str]:
        """Yield the weights beside the links, where there is room and not all are 1."""
        if len(self._graph) > _FEW or self._graph.is_unit:
            return
        for u, v, weight in self._graph.edges():
            start, end = self._places[u], self._places[v]
            across = np.array([start[1] - end[1], end[0] - start[0]]) / max(1e-9, float(np.hypot(*(end - start))))
            x, y = (start + end) / 2 + across * (-9 if across[1] > 0 else 9)  # above the link
            yield _text(x, y + 4, f"{weight / self._graph.scale:g}", 10, "#6b7480")

    def ways(self, ways: Collection[tuple[int, int]]) -> Iterator[str]:
        """Yield an arrow for each way, from rim to rim."""
        for u, v in sorted(ways):
            start, end = self._places[u], self._places[v]
            step = (end - start) / max(1e-9, float(np.hypot(*(end - start))))
            (x1, y1), (x2, y2) = start + step * self._radius, end - step * (self._radius + 5)
            yield (
                f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_WAY}" '
                f'stroke-width="2.4" marker-end="url(#arrow)"/>'
            )

    def nodes(self, shown: Mapping[str, Collection[int | None]]) -> Iterator[str]:
        """Yield a circle and a name for each node."""
        size = min(12.0, self._radius)
        for u, (x, y) in enumerate(self._places):
            kind = next((kind for kind in _COLOURS if u in shown.get(kind, ())), "node")
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{self._radius:.1f}" fill="{_COLOURS[kind]}" stroke="#7b8794"/>'
            colour = "#ffffff" if kind in ("source", "interested") else _TEXT
            yield _text(x, y + size * 0.36, str(self._graph.name(u)), size, colour)


def _placed(positions: Positions, radius: float) -> Positions:
    """Return the positions in pixels, from the upper left corner, and few circles over others."""
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    close = np.percentile(apart.min(axis=0), 10) if len(positions) > 1 else 1.0
    unit = max(_LINK_LENGTH, 2.5 * radius / max(1e-9, float(close)))
    unit = min(unit, _LONGEST_SIDE / max(1.0, float(np.ptp(positions, axis=0).max())))
    placed: Positions = (positions - positions.min(axis=0)) * unit + _MARGIN
    return placed


def _head(title: str, width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" role="img">\n'
        f"<title>{_escaped(title)}</title>\n"
        f'<defs><marker id="arrow" viewBox="0 0 8 8" refX="3" refY="4" markerWidth="4" markerHeight="4" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{_WAY}"/></marker></defs>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
    )


def _legend(top: float, kinds: Collection[str]) -> Iterator[str]:
    for place, kind in enumerate(kinds):
        x = 20.0 + 100 * place
        yield f'<circle cx="{x:.0f}" cy="{top + 12:.1f}" r="6" fill="{_COLOURS[kind]}" stroke="#7b8794"/>'
        yield f'<text x="{x + 11:.0f}" y="{top + 16:.1f}" font-size="11" fill="{_TEXT}">{kind}</text>'


def _text(x: float, y: float, text: str, size: float, colour: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}"'
    return f'<text {place} fill="{colour}" text-anchor="middle">{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    """Return a text as XML can hold it: without control characters and halves of surrogate pairs."""
    return escape("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text))
