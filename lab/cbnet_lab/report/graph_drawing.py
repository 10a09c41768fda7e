"""Drawings of a graph as SVG, with the delivery of a message on it.

Readable up to about 100 nodes. A name that fits is drawn inside its circle, a longer one below it; every label lies
inside the drawing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from html import escape
from unicodedata import east_asian_width

import numpy as np

from cbnet.topology import Graph
from cbnet_lab.report.graph_layout import Positions, layout

_COLOURS = {
    "source": "#b3261e",
    "interested": "#1a7f37",
    "spurious": "#f0a63c",
    "forwarder": "#8fb4e3",
    "node": "#eceff3",
}
_LINK, _HOP, _TEXT = "#c3c9d2", "#1f5fbf", "#1c2430"
_MAX_WEIGHTED = 30  # nodes; larger graphs have no room for weights beside the links
_MARGIN, _LEGEND, _GAP = 30.0, 30.0, 4.0
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
    drawing = _Drawing(graph, layout(graph) if positions is None else positions, radius)
    groups: dict[str, Collection[int | None]] = {
        "source": {source},
        "interested": set(interested),
        "spurious": set(spurious),
        "forwarder": {w for _, w in hops},
    }
    kinds = [kind for kind in groups if spurious or kind != "spurious"]
    width, height = max(drawing.width, 40.0 + 100 * len(kinds)), drawing.height
    lines = [
        *drawing.links(), *drawing.hops(hops), *drawing.weights(), *drawing.nodes(groups), *_legend(height, kinds),
    ]  # fmt: skip
    return "\n".join([_head(title, width, height + _LEGEND), *lines, "</svg>", ""])


class _Drawing:
    """The parts of a drawing, one line of SVG each."""

    def __init__(self, graph: Graph, positions: Positions, radius: float) -> None:
        self._graph = graph
        self._radius = radius
        self._font_size = min(12.0, radius)
        self._names = [_printable(str(graph.name(u))) for u in range(len(graph))]
        self._widths = np.array([_text_width(name, self._font_size) for name in self._names])
        self._fits = self._widths <= 2 * radius
        points = _scaled(positions, radius, float(np.median(self._widths)))
        # Names at the left and right edge may reach further out than their circles.
        left = max(_MARGIN, float((self._widths / 2 - points[:, 0]).max()) + _GAP)
        self._points = points + np.array([left, _MARGIN])
        self.width = max(self._points[:, 0].max() + _MARGIN, (self._points[:, 0] + self._widths / 2).max() + _GAP)
        self.height = self._points[:, 1].max() + _MARGIN + (0.0 if self._fits.all() else self._font_size)

    def links(self) -> Iterator[str]:
        """Yield the links."""
        for u, v, _ in self._graph.edges():
            (x1, y1), (x2, y2) = self._points[u], self._points[v]
            yield f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_LINK}"/>'

    def weights(self) -> Iterator[str]:
        """Yield the weights beside the links, if there is room and not all are 1."""
        if len(self._graph) > _MAX_WEIGHTED or self._graph.is_unit:
            return
        for u, v, weight in self._graph.edges():
            start, end = self._points[u], self._points[v]
            across = np.array([start[1] - end[1], end[0] - start[0]]) / max(1e-9, float(np.hypot(*(end - start))))
            x, y = (start + end) / 2 + across * (-9 if across[1] > 0 else 9)  # above the link
            yield _text(x, y + 4, f"{weight / self._graph.scale:g}", 10, "#6b7480")

    def hops(self, hops: Collection[tuple[int, int]]) -> Iterator[str]:
        """Yield an arrow for each hop, from rim to rim."""
        for u, v in sorted(hops):
            start, end = self._points[u], self._points[v]
            step = (end - start) / max(1e-9, float(np.hypot(*(end - start))))
            (x1, y1), (x2, y2) = start + step * self._radius, end - step * (self._radius + 5)
            yield (
                f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_HOP}" '
                f'stroke-width="2.4" marker-end="url(#arrow)"/>'
            )

    def nodes(self, groups: Mapping[str, Collection[int | None]]) -> Iterator[str]:
        """Yield a circle and a name for each node."""
        size = self._font_size
        for u, (x, y) in enumerate(self._points):
            kind = next((kind for kind in _COLOURS if u in groups.get(kind, ())), "node")
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{self._radius:.1f}" fill="{_COLOURS[kind]}" stroke="#7b8794"/>'
            if self._fits[u]:
                colour = "#ffffff" if kind in ("source", "interested") else _TEXT
                yield _text(x, y + size * 0.36, self._names[u], size, colour)
            else:
                yield _text(x, y + self._radius + size, self._names[u], size, _TEXT, halo=True)


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


def _head(title: str, width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" role="img">\n'
        f"<title>{escape(_printable(title))}</title>\n"
        f'<defs><marker id="arrow" viewBox="0 0 8 8" refX="3" refY="4" markerWidth="4" markerHeight="4" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{_HOP}"/></marker></defs>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
    )


def _legend(top: float, kinds: Collection[str]) -> Iterator[str]:
    for number, kind in enumerate(kinds):
        x = 20.0 + 100 * number
        yield f'<circle cx="{x:.0f}" cy="{top + 12:.1f}" r="6" fill="{_COLOURS[kind]}" stroke="#7b8794"/>'
        yield f'<text x="{x + 11:.0f}" y="{top + 16:.1f}" font-size="11" fill="{_TEXT}">{kind}</text>'


def _text(x: float, y: float, text: str, size: float, colour: str, *, halo: bool = False) -> str:
    outline = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"' if halo else ""
    attributes = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" fill="{colour}"{outline} text-anchor="middle"'
    return f"<text {attributes}>{escape(text)}</text>"


def _printable(text: str) -> str:
    """Replace characters that XML cannot hold: control characters and lone surrogates."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
