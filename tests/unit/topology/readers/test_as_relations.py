import pytest

from cbnet.errors import FileError
from cbnet.topology import Relation
from cbnet.topology.graph.edges import EdgeSet
from cbnet.topology.graph.graph import Graph
from cbnet.topology.readers.as_relations import read_as_relations

ONE = "# source:topology|BGP|20120601\n1|2|-1\n2|3|0\n3|4|2\n4|5|1\n"
TWO = "# serial 2\n1|2|-1|bgp\n2|3|0|mlp\n3|4|2|bgp\n4|5|1|bgp\n"


def read(text):
    edges = EdgeSet("as.txt")
    read_as_relations(text, edges)
    return Graph.from_edge_set(edges)


@pytest.mark.parametrize("text", [ONE, TWO, ONE.replace("\n", "\r\n")])
def test_both_series_are_read(text):
    graph = read(text)
    assert graph.names == (1, 2, 3, 4, 5)
    customer, peer, provider, sibling = Relation.CUSTOMER, Relation.PEER, Relation.PROVIDER, Relation.SIBLING
    # 1: 2; 2: 1, 3; 3: 2, 4; 4: 3, 5; 5: 4
    assert graph.relations.tolist() == [customer, provider, peer, peer, sibling, sibling, sibling, sibling]
    assert graph.is_unit


def test_the_second_as_of_a_line_may_be_the_smaller():
    assert read("9|2|-1\n").relations.tolist() == [Relation.PROVIDER, Relation.CUSTOMER]


def test_the_same_relation_again_is_dropped_and_counted():
    graph = read("1|2|0\n2|1|0\n3|1|2\n1|3|1\n")
    assert (graph.edge_count, graph.repeated) == (2, 2)


def test_every_mistake_is_named_with_its_line():
    with pytest.raises(FileError) as raised:
        read("1|2|-1\n2|1|-1\n1|3\n1|x|0\n1|3|7\n3|3|0\n1|4|-1|bgp|more\n1|٣|0\n")
    assert [(error.line, error.problem) for error in raised.value.errors] == [
        (2, "the edge between 2 and 1 has another relation in line 1"),
        (3, "'1|3' is not a relation between ASes"),
        (4, "'1|x|0' is not a relation between ASes"),
        (5, "unknown relation '7'"),
        (6, "the edge leads from 3 to itself"),
        (7, "'1|4|-1|bgp|more' is not a relation between ASes"),
        (8, "'1|٣|0' is not a relation between ASes"),
    ]
    assert all(error.hint for error in raised.value.errors)
