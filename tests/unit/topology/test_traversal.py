from cbnet.topology import Graph, bridges, components, largest_component, topology
from cbnet.topology.traversal import UNREACHED, Traversal


def test_what_was_reached_is_in_the_way_until_it_is_forgotten():
    traversal = Traversal(*Graph.from_edges([(0, 1), (1, 2), (3, 4)]).rows)
    path = traversal.visit(1).copy()
    assert path.tolist() == [1, 0, 2]
    assert traversal.parents.tolist() == [1, -1, 1, UNREACHED, UNREACHED]
    assert traversal.distances.tolist() == [1, 0, 1, -1, -1]
    assert traversal.visit(3).tolist() == [3, 4]
    assert traversal.visit(0).tolist() == [0]
    traversal.reset(path)
    assert traversal.visit(0).tolist() == [0, 1, 2]
    assert traversal.distances.tolist() == [0, 1, 2, 0, 1]


def test_components_come_by_size_then_by_their_smallest_node():
    graph = Graph.from_edges([(5, 6), (1, 4), (7, 3, 2), (3, 8)], names=[0])
    assert [[graph.name(node) for node in nodes] for nodes in components(graph)] == [[3, 7, 8], [1, 4], [5, 6], [0]]


def test_a_connected_graph_is_its_own_largest_component(twelve):
    assert [*largest_component(twelve).edges()] == [*twelve.edges()]


def test_the_largest_component_keeps_names_and_weights():
    graph = largest_component(Graph.from_edges([(5, 6), (7, 3, 2), (3, 8, 4)]))
    assert graph.names == (3, 7, 8)
    assert [*graph.edges()] == [(0, 1, 2), (0, 2, 4)]


def test_an_edge_between_two_rings_is_a_bridge(graph):
    assert bridges(graph("0-1 1-2 2-0 2-3 3-4 4-5 5-3")) == [(2, 3)]


def test_every_edge_of_a_tree_is_a_bridge():
    tree = topology("tree:50,arity=3")
    assert bridges(tree) == [(u, v) for u, v, _ in tree.edges()]


def test_rings_have_none_and_a_long_line_is_walked():
    assert bridges(topology("ring:5000")) == []
    assert len(bridges(topology("tree:5000,arity=1"))) == 4999


def test_all_components_are_looked_at(graph):
    assert bridges(graph("0-1 2-3 3-4 4-2")) == [(0, 1)]
    assert bridges(Graph.from_edges([], names="a")) == []
