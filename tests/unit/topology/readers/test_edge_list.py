import pytest

from cbnet.errors import FileError
from cbnet.topology.graph.edges import EdgeSet
from cbnet.topology.graph.graph import Graph
from cbnet.topology.readers.edge_list import read_edge_list


def read(text):
    edges = EdgeSet("e.txt")
    read_edge_list(text, edges)
    return Graph.from_edge_set(edges)


def named_edges(graph):
    return [(graph.name(u), graph.name(v), weight) for u, v, weight in graph.edges()]


def test_two_names_and_perhaps_a_weight_make_an_edge():
    graph = read("1 2\n\n  2\t3   4  # the slow one\n# nothing\n3 a 0.5\r\n")
    assert named_edges(graph) == [(1, 2, 10), (2, 3, 40), (3, "a", 5)]
    assert graph.scale == 10


def test_commas_separate_too_and_then_names_may_hold_blanks():
    assert named_edges(read("New York, Milan, 3\nMilan,Turin\n")) == [("Milan", "New York", 3), ("Milan", "Turin", 1)]


def test_every_mistake_is_named_with_its_line():
    with pytest.raises(FileError) as raised:
        read("a b\na\na b c\na,,3\na b 2\na b 1 9\nc c\nd e -2\n")
    assert [(error.line, error.problem) for error in raised.value.errors] == [
        (2, "'a' is not an edge"),
        (3, "the weight c is not a number"),
        (4, "'a,,3' is not an edge"),
        (5, "the edge between a and b has another weight in line 1"),
        (6, "'a b 1 9' is not an edge"),
        (7, "the edge leads from c to itself"),
        (8, "the weight -2 is not greater than 0"),
    ]
    assert all(error.hint for error in raised.value.errors)
