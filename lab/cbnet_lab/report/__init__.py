"""Charts, graph drawings and report pages; the only package that imports plotting."""

from cbnet_lab.report.graph_drawing import draw_graph
from cbnet_lab.report.graph_layout import check_drawable

__all__ = ["check_drawable", "draw_graph"]
