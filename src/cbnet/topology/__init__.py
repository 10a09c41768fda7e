"""Network topologies: graphs, their specifications, shortest-path trees and measures."""

from cbnet.topology.graph.as_classes import AsClass, as_classes, customer_trees
from cbnet.topology.graph.bridges import bridges
from cbnet.topology.graph.components import components, largest_component
from cbnet.topology.graph.edges import Relation
from cbnet.topology.graph.graph import Graph
from cbnet.topology.graph.traversal import UNREACHED
from cbnet.topology.readers.specification import topology
from cbnet.topology.survey.betweenness import betweenness, most_central
from cbnet.topology.survey.distinct_trees import distinct_trees
from cbnet.topology.survey.link_load import link_load
from cbnet.topology.survey.path_lengths import PathLengths, average_distance, path_lengths
from cbnet.topology.survey.stretch import ExtraLengths, extra_lengths
from cbnet.topology.trees.roots import draw_roots, root_classes
from cbnet.topology.trees.shortest_paths import (
    ROOT,
    Tree,
    distances,
    parents,
    shortest_path_tree,
    shortest_path_trees,
)
from cbnet.topology.trees.ties import Ties, tied_trees

__all__ = [
    "ROOT",
    "UNREACHED",
    "AsClass",
    "ExtraLengths",
    "Graph",
    "PathLengths",
    "Relation",
    "Ties",
    "Tree",
    "as_classes",
    "average_distance",
    "betweenness",
    "bridges",
    "components",
    "customer_trees",
    "distances",
    "distinct_trees",
    "draw_roots",
    "extra_lengths",
    "largest_component",
    "link_load",
    "most_central",
    "parents",
    "path_lengths",
    "root_classes",
    "shortest_path_tree",
    "shortest_path_trees",
    "tied_trees",
    "topology",
]
