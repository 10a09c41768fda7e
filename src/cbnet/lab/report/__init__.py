"""Report: what does it look like? Drawings of graphs; the only package that draws."""

from cbnet.lab.report.graph_drawing import draw_graph
from cbnet.lab.report.graph_layout import check_drawable

__all__ = ["check_drawable", "draw_graph"]
