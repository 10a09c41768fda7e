"""What does the network look like? Graphs, how they are named, their shortest-path trees and their measures."""

from cbnet.topology.as_classes import AsClass, as_classes, customer_trees
from cbnet.topology.betweenness import betweenness, most_central
from cbnet.topology.bridges import bridges
from cbnet.topology.components import components, largest_component
from cbnet.topology.edges import Relation
from cbnet.topology.graph import Graph
from cbnet.topology.named import topology
from cbnet.topology.path_lengths import PathLengths, average_distance, path_lengths
from cbnet.topology.trees import (
    ROOT,
    UNREACHED,
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
    "Graph",
    "PathLengths",
    "Relation",
    "Tree",
    "as_classes",
    "average_distance",
    "betweenness",
    "bridges",
    "components",
    "customer_trees",
    "distances",
    "largest_component",
    "most_central",
    "parents",
    "path_lengths",
    "shortest_path_tree",
    "shortest_path_trees",
    "topology",
]
