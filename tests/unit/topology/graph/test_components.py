from cbnet.topology import Graph, components, largest_component


def test_components_come_by_size_then_by_their_smallest_node():
    graph = Graph.from_edges([(5, 6), (1, 4), (7, 3, 2), (3, 8)], names=[0])
    assert [[graph.name(node) for node in nodes] for nodes in components(graph)] == [[3, 7, 8], [1, 4], [5, 6], [0]]


def test_a_connected_graph_is_its_own_largest_component(twelve):
    assert [*largest_component(twelve).edges()] == [*twelve.edges()]


def test_the_largest_component_keeps_names_and_weights():
    graph = largest_component(Graph.from_edges([(5, 6), (7, 3, 2), (3, 8, 4)]))
    assert graph.names == (3, 7, 8)
    assert [*graph.edges()] == [(0, 1, 2), (0, 2, 4)]
