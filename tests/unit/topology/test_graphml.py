import io

import networkx
import pytest

from cbnet.errors import FileError
from cbnet.topology.edges import EdgeSet
from cbnet.topology.graph import Graph
from cbnet.topology.graphml import read_graphml

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


def read(text):
    edges = EdgeSet("g.graphml")
    read_graphml(text, edges)
    return Graph.from_edge_set(edges)


def named_edges(graph):
    return [(graph.name(u), graph.name(v), weight / graph.scale) for u, v, weight in graph.edges()]


def test_what_networkx_writes_is_read():
    graph = networkx.DiGraph([("a", "b", {"weight": 2.5, "label": "x < y"}), ("b", "c", {"weight": 1.0})])
    graph.add_node("d", weight=7)
    written = io.BytesIO()
    networkx.write_graphml(graph, written)
    found = read(written.getvalue().decode())
    assert found.names == ("a", "b", "c", "d")
    assert named_edges(found) == [("a", "b", 2.5), ("b", "c", 1)]


def test_a_weight_may_have_a_default_and_tags_a_prefix():
    text = (
        '<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns"><g:key id="d" for="edge" attr.name="weight">'
        '<g:default> 3 </g:default></g:key><g:key id="e" for="edge" attr.name="other"><g:default>9</g:default></g:key>'
        '<g:graph><g:node id="1"/><g:node id="2"/><g:node id="3"/><g:edge source="1" target="2"/>'
        '<g:edge source="2" target="3"><g:data key="d">4</g:data><g:data key="e">5</g:data></g:edge></g:graph></g:graphml>'
    )
    assert named_edges(read(text)) == [(1, 2, 3), (2, 3, 4)]


def test_edges_without_weights_have_length_1():
    assert named_edges(read('<graphml><graph><node id="b"/><node id="a"/><edge source="a" target="b"/></graph></graphml>')) == [
        ("a", "b", 1)
    ]  # fmt: skip


def test_every_mistake_is_named_with_its_line():
    body = (
        '<key id="w" for="edge" attr.name="weight"/><graph>\n<node/>\n<node id="a"/><node id="b"/>\n'
        '<edge source="a"/>\n<edge source="a" target="c"/>\n<edge source="a" target="a"/>\n'
        '<edge source="a" target="b"><data key="w">x</data></edge>\n<hyperedge/>\n</graph></graphml>'
    )
    with pytest.raises(FileError) as raised:
        read(HEAD + body)
    assert [(error.line, error.problem) for error in raised.value.errors] == [
        (4, "the node has no id"),
        (6, "the edge has no target"),
        (7, "there is no node 'c'"),
        (8, "the edge leads from a to itself"),
        (9, "the weight x is not a number"),
        (10, "a hyperedge joins more than two nodes"),
    ]


def test_what_is_not_xml_is_named_with_its_place():
    with pytest.raises(FileError) as raised:
        read(HEAD + "<graph></node>\n")
    assert raised.value.errors[0].location == "g.graphml:3:10"
    assert "not XML" in raised.value.errors[0].problem


def test_an_entity_that_would_explode_does_not():
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 50}">' for i in range(1, 10))
    text = f'<!DOCTYPE g [<!ENTITY e0 "{"x" * 50}">{entities}]>\n<graphml><graph>&e9;</graph></graphml>'
    with pytest.raises(FileError, match="not XML"):
        read(text)


def test_a_weight_without_a_text_is_empty():
    edges = EdgeSet("g.xml")
    read_graphml(
        '<graphml><key id="w" for="edge" attr.name="weight"/><graph><node id="a"/><node id="b"/>\n'
        '<edge source="a" target="b"><data key="w"/></edge></graph></graphml>',
        edges,
    )
    with pytest.raises(FileError, match=r"g\.xml:2: the weight is empty"):
        edges.check()
