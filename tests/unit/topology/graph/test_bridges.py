from cbnet.topology import Graph, bridges, topology


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
