"""Network topologies: graphs, their specifications, shortest-path trees and measures."""

from cbnet.topology.as_classes import AsClass, as_classes, customer_trees, draw_roots, root_classes
from cbnet.topology.betweenness import betweenness, most_central
from cbnet.topology.edges import Relation
from cbnet.topology.graph import Graph
from cbnet.topology.graph_files import topology
from cbnet.topology.path_lengths import PathLengths, average_distance, path_lengths
from cbnet.topology.shortest_paths import (
    ROOT,
    Ties,
    Tree,
    distances,
    parents,
    shortest_path_tree,
    shortest_path_trees,
    tied_trees,
)
from cbnet.topology.traversal import UNREACHED, bridges, components, largest_component
from cbnet.topology.tree_measures import ExtraLengths, distinct_trees, extra_lengths, link_load

__all__ = [
    "ROOT", "UNREACHED", "AsClass", "ExtraLengths", "Graph", "PathLengths", "Relation", "Ties", "Tree", "as_classes",
    "average_distance", "betweenness", "bridges", "components", "customer_trees", "distances", "distinct_trees",
    "draw_roots", "extra_lengths", "largest_component", "link_load", "most_central", "parents", "path_lengths",
    "root_classes", "shortest_path_tree", "shortest_path_trees", "tied_trees", "topology",
]  # fmt: skip
