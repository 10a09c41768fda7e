"""What does the network look like? Graphs, how they are named, their shortest-path trees and their measures."""

from cbnet.topology.as_classes import AsClass, as_classes, customer_trees
from cbnet.topology.betweenness import betweenness, most_central
from cbnet.topology.bridges import bridges
from cbnet.topology.components import components, largest_component
from cbnet.topology.edges import Relation
from cbnet.topology.graph import Graph
from cbnet.topology.growth import UNREACHED
from cbnet.topology.named import topology
from cbnet.topology.path_lengths import PathLengths, average_distance, path_lengths
from cbnet.topology.tree_interfaces import distinct_trees
from cbnet.topology.tree_load import link_load
from cbnet.topology.tree_roots import draw_roots, root_classes
from cbnet.topology.tree_stretch import ExtraLengths, extra_lengths
from cbnet.topology.tree_ties import Ties, tied_trees
from cbnet.topology.trees import (
    ROOT,
    Tree,
    distances,
    parents,
    shortest_path_tree,
    shortest_path_trees,
)

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
