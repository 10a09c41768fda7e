import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.topology import Graph, Relation
from cbnet.topology.edges import EdgeSet


def test_ids_follow_the_names_numbers_first():
    graph = Graph.from_edges([("b", 10), ("a", "9"), (9, 10), ("a", "Z")])
    assert graph.names == (9, 10, "Z", "a", "b")
    assert [graph.id(name) for name in graph.names] == [0, 1, 2, 3, 4]
    assert (graph.id("10"), graph.name(1)) == (1, 10)


def test_rows_hold_the_neighbours_in_order():
    graph = Graph.from_edges([(0, 2, 4), (1, 0, 7), (3, 1), (1, 2)])
    assert graph.offsets.tolist() == [0, 2, 5, 7, 8]
    assert graph.targets.tolist() == [1, 2, 0, 2, 3, 0, 1, 1]
    assert graph.weights.tolist() == [7, 4, 7, 1, 1, 4, 1, 1]
    assert (len(graph), graph.edge_count) == (4, 4)
    assert graph.neighbours(1).tolist() == [0, 2, 3]
    assert graph.degrees.tolist() == [2, 3, 2, 1]
    assert [*graph.edges()] == [(0, 1, 7), (0, 2, 4), (1, 2, 1), (1, 3, 1)]
    assert (graph.offsets.dtype, graph.targets.dtype, graph.weights.dtype) == (np.int64, np.int32, np.int64)


def test_decimal_weights_become_whole_by_one_power_of_ten():
    graph = Graph.from_edges([("a", "b", 0.1), ("b", "c", "2.25"), ("c", "a")])
    assert graph.scale == 100
    assert [graph.weight(0, 1), graph.weight(2, 1), graph.weight(0, 2)] == [10, 225, 100]


def test_a_graph_is_unit_if_every_edge_has_length_1():
    assert Graph.from_edges([(1, 2), (2, 3, "1.0")]).is_unit
    assert not Graph.from_edges([(1, 2), (2, 3, 2)]).is_unit
    assert not Graph.from_edges([(1, 2, 0.5)]).is_unit


def test_weights_that_would_not_add_up_exactly_are_refused():
    Graph.from_edges([(1, 2, 2**52), (2, 3, 2**52 - 1)])
    with pytest.raises(InputError, match="too large for exact distances"):
        Graph.from_edges([(1, 2, 2**52), (2, 3, 2**52)])
    with pytest.raises(InputError, match="the weight 1e-7 needs more than the 5 decimal places"):
        Graph.from_edges([(1, 2, 1e10), (2, 3, "0.0000001")])  # 2**53 is 9.007e15


def test_a_node_may_stand_alone():
    graph = Graph.from_edges([], names=["a"])
    assert (len(graph), graph.edge_count, graph.is_unit) == (1, 0, True)
    assert Graph.from_edges([(1, 2)], names=[2, 5]).degrees.tolist() == [1, 1, 0]


def test_a_graph_has_a_node():
    with pytest.raises(InputError, match="no nodes"):
        Graph.from_edges([])


@pytest.mark.parametrize(
    ("edges", "problem"),
    [
        ([("a", "a")], "from a to itself"),
        ([("a", "b", 1), ("b", "a", 2)], "another weight before"),
        ([("a", "b", 0)], "not greater than 0"),
        ([("", "b")], "a node's name"),
    ],
)
def test_mistakes_are_refused(edges, problem):
    with pytest.raises(InputError, match=problem):
        Graph.from_edges(edges)


def test_repeated_edges_are_counted():
    graph = Graph.from_edges([("a", "b"), ("b", "a"), ("a", "b")])
    assert (graph.edge_count, graph.repeated) == (1, 2)


def test_an_unknown_name_gets_the_nearest_ones():
    graph = Graph.from_edges([("milan", "turin"), ("turin", 12)])
    with pytest.raises(InputError, match=r"no node 'milam'; did you mean milan\?"):
        graph.id("milam")
    with pytest.raises(InputError, match="no node 'xyz'"):
        graph.id("xyz")


def test_what_is_no_edge_has_no_weight(twelve):
    with pytest.raises(InputError, match="no edge between 1 and 2"):
        twelve.weight(twelve.id(1), twelve.id(2))


def test_relations_are_seen_from_both_ends():
    edges = EdgeSet()
    edges.add(7, 3, relation=Relation.CUSTOMER)  # 3 is a customer of 7
    edges.add(7, 5, relation=Relation.PEER)
    graph = Graph.from_edge_set(edges)
    assert graph.targets.tolist() == [2, 2, 0, 1]
    assert graph.relations.tolist() == [Relation.PROVIDER, Relation.PEER, Relation.CUSTOMER, Relation.PEER]
    assert Graph.from_edges([(1, 2)]).relations is None


def test_a_part_keeps_names_weights_and_the_edges_inside():
    graph = Graph.from_edges([("a", "b", 2), ("b", "c", 3), ("c", "d", 0.5), ("a", "d")])
    part = graph.part(np.array([True, False, True, True]))
    assert part.names == ("a", "c", "d")
    assert [*part.edges()] == [(0, 2, 10), (1, 2, 5)]
    assert part.scale == 10


def test_the_arrays_cannot_be_changed(twelve):
    with pytest.raises(ValueError, match="read-only"):
        twelve.targets[0] = 3
