import pytest

from cbnet.topology import Graph, shortest_path_tree

# [2006 Figures 1, 2, 4], with weights that make all shortest paths unique and fit all that the prose says
TWELVE = "1-5:1 1-6:4 5-9:2 6-9:2 9-10:2 7-10:4 6-7:3 2-6:1 2-3:2 3-4:6 4-7:1 7-8:2 7-11:1 8-12:3 11-12:2"

# [2014 Figures 2, 3]: all links have length 1; T1 is the tree of b, T2 that of i
ELEVEN = "bc cg ch bf fj fk be ei ed da ij jk fg"


def graph_of(text):
    """Return the graph of edges such as 1-5:2, or 1-5 for one of length 1."""
    edges = (edge.partition(":") for edge in text.split())
    return Graph.from_edges((*ends.split("-"), weight or 1) for ends, _, weight in edges)


@pytest.fixture
def graph():
    return graph_of


@pytest.fixture
def twelve():
    return graph_of(TWELVE)


@pytest.fixture
def two_trees():
    graph = Graph.from_edges([tuple(link) for link in ELEVEN.split()])
    return graph, [shortest_path_tree(graph, graph.id(root)) for root in "bi"]
