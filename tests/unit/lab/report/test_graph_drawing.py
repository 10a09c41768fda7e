from xml.etree import ElementTree

import numpy as np
import pytest
from support.networks import TWELVE, graph

from cbnet.errors import InputError
from cbnet.lab.report import draw_graph
from cbnet.lab.report.graph_layout import layout
from cbnet.topology import Graph, distances, topology

SVG = "{http://www.w3.org/2000/svg}"
FIXTURE = graph(TWELVE)


def drawn(graph, **shown):
    return ElementTree.fromstring(draw_graph(graph, title="a < b", **shown))


def texts(root):
    return [text.text for text in root.iter(f"{SVG}text")]


def test_every_node_and_link_is_drawn_once():
    root = drawn(FIXTURE)
    legend = 3
    assert len(list(root.iter(f"{SVG}circle"))) == 12 + legend
    assert len(list(root.iter(f"{SVG}line"))) == 15
    assert root.find(f"{SVG}title").text == "a < b"
    assert sorted(texts(root)[15:27], key=int) == [str(node) for node in range(1, 13)]


def test_weights_stand_beside_links_where_they_differ():
    assert sorted(texts(drawn(FIXTURE))[:15]) == sorted(edge.split(":")[1] for edge in TWELVE.split())
    assert "1" not in texts(drawn(Graph.from_edges([("a", "b"), ("b", "c")])))
    assert "2.5" in texts(drawn(Graph.from_edges([("a", "b", "2.5")])))


def test_source_interested_and_passed_nodes_have_colours_of_their_own():
    root = drawn(FIXTURE, source=0, interested=[1, 2], ways=[(0, 5), (5, 1), (1, 2)])
    *nodes, red, green, blue = [circle.get("fill") for circle in root.iter(f"{SVG}circle")]
    assert len({red, green, blue, nodes[11]}) == 4
    assert nodes[:6] == [red, green, green, nodes[11], nodes[11], blue]
    assert sum(line.get("marker-end") is not None for line in root.iter(f"{SVG}line")) == 3


def test_nodes_that_were_reached_in_vain_have_a_colour_and_a_legend():
    root = drawn(FIXTURE, source=0, interested=[1], ways=[(0, 5), (5, 1), (5, 6)], spurious=[6])
    *nodes, _, _, orange, blue = [circle.get("fill") for circle in root.iter(f"{SVG}circle")]
    assert nodes[5:7] == [blue, orange]
    assert texts(root)[-4:] == ["source", "interested", "spurious", "passed"]
    assert "spurious" not in texts(drawn(FIXTURE))


def test_control_characters_in_names_make_no_broken_xml():
    root = drawn(Graph.from_edges([("a\x01", "b\ud800")]))
    assert texts(root)[:2] == ["a\ufffd", "b\ufffd"]


@pytest.mark.parametrize("name", ["ring:12", "grid:4x5", "tree:20"])
def test_distances_on_the_page_follow_those_in_the_graph(name):
    graph = topology(name)
    places = layout(graph)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    pairs = np.triu_indices(len(graph), 1)
    assert np.corrcoef(apart[pairs], distances(graph, range(len(graph)))[pairs])[0, 1] > 0.9


def test_leaves_of_one_node_do_not_stand_in_one_place():
    places = layout(Graph.from_edges([(0, leaf) for leaf in range(1, 9)]))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(9, 1)]
    assert apart.min() > 0.3


def test_small_graphs_are_drawn_too():
    assert len(list(drawn(Graph.from_edges([], names=["a"])).iter(f"{SVG}circle"))) == 1 + 3
    assert len(list(drawn(Graph.from_edges([("a", "b")])).iter(f"{SVG}line"))) == 1


def test_names_are_escaped():
    assert "<&>" in texts(drawn(Graph.from_edges([("<&>", "b")])))


def test_large_graphs_are_refused():
    with pytest.raises(InputError, match="up to 500 nodes can be drawn, and this one has 501"):
        draw_graph(topology("ring:501"), title="")
