from xml.etree import ElementTree

import numpy as np
import pytest
from support.networks import TWELVE, graph

from cbnet.errors import InputError
from cbnet.topology import Graph, distances, topology
from cbnet_lab.report.graph_drawing import draw_graph, layout

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


def test_weights_are_drawn_where_they_differ():
    assert sorted(texts(drawn(FIXTURE))[:15]) == sorted(edge.split(":")[1] for edge in TWELVE.split())
    assert "1" not in texts(drawn(Graph.from_edges([("a", "b"), ("b", "c")])))
    assert "2.5" in texts(drawn(Graph.from_edges([("a", "b", "2.5")])))


def test_sources_interested_nodes_and_forwarders_have_distinct_colours():
    root = drawn(FIXTURE, source=0, interested=[1, 2], hops=[(0, 5), (5, 1), (1, 2)])
    *nodes, red, green, blue = [circle.get("fill") for circle in root.iter(f"{SVG}circle")]
    assert len({red, green, blue, nodes[11]}) == 4
    assert nodes[:6] == [red, green, green, nodes[11], nodes[11], blue]
    assert sum(line.get("marker-end") is not None for line in root.iter(f"{SVG}line")) == 3


def test_spurious_nodes_have_a_colour_and_a_legend():
    root = drawn(FIXTURE, source=0, interested=[1], hops=[(0, 5), (5, 1), (5, 6)], spurious=[6])
    *nodes, _, _, orange, blue = [circle.get("fill") for circle in root.iter(f"{SVG}circle")]
    assert nodes[5:7] == [blue, orange]
    assert texts(root)[-4:] == ["source", "interested", "spurious", "forwarder"]
    assert "spurious" not in texts(drawn(FIXTURE))


def test_control_characters_in_names_do_not_break_the_xml():
    root = drawn(Graph.from_edges([("a\x01", "b\ud800")]))
    assert texts(root)[:2] == ["a\ufffd", "b\ufffd"]


@pytest.mark.parametrize("name", ["ring:12", "grid:4x5", "tree:20"])
def test_distances_in_the_plane_correlate_with_hops(name):
    graph = topology(name)
    positions = layout(graph)
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    pairs = np.triu_indices(len(graph), 1)
    assert np.corrcoef(apart[pairs], distances(graph, range(len(graph)))[pairs])[0, 1] > 0.9


def test_leaves_of_one_node_do_not_coincide():
    positions = layout(Graph.from_edges([(0, leaf) for leaf in range(1, 9)]))
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2)[np.triu_indices(9, 1)]
    assert apart.min() > 0.3


def test_graphs_of_one_and_two_nodes_are_drawn():
    assert len(list(drawn(Graph.from_edges([], names=["a"])).iter(f"{SVG}circle"))) == 1 + 3
    assert len(list(drawn(Graph.from_edges([("a", "b")])).iter(f"{SVG}line"))) == 1


def test_names_are_escaped():
    assert "<&>" in texts(drawn(Graph.from_edges([("<&>", "b")])))


def test_large_graphs_are_rejected():
    with pytest.raises(InputError, match="cannot draw 501 nodes: the limit is 500"):
        draw_graph(topology("ring:501"), title="")


LONG_NAMES = ["router-of-the-ministry-of-agriculture", "WWWWWWWWWWWW", "東京都千代田区", "a", "mm-mm.example.org"]


@pytest.mark.parametrize("shape", ["ring", "star", "line"])
def test_every_label_lies_inside_the_view_box(shape):
    edges = {
        "ring": [(u, (u + 1) % 5) for u in range(5)],
        "star": [(0, u) for u in range(1, 5)],
        "line": [(u, u + 1) for u in range(4)],
    }[shape]
    root = drawn(Graph.from_edges([(LONG_NAMES[u], LONG_NAMES[v]) for u, v in edges]), source=0, spurious=[1])
    left, top, width, height = map(float, root.get("viewBox").split())
    labels = list(root.iter(f"{SVG}text"))
    assert {label.text for label in labels} >= set(LONG_NAMES)
    for label in labels:
        x, y, size = (float(label.get(name)) for name in ("x", "y", "font-size"))
        # Widths of DejaVu Sans, a wide font: W takes 0.99 em, m 0.97 em, small letters at most 0.64 em.
        advance = sum({"W": 0.99, "m": 0.98}.get(letter, 0.64 if letter.isascii() else 1.0) for letter in label.text)
        start = x - advance * size / 2 if label.get("text-anchor") == "middle" else x
        assert left <= start
        assert start + advance * size <= left + width
        assert top <= y - size
        assert y + 0.25 * size <= top + height


def test_names_that_do_not_fit_their_circle_are_drawn_below_it_in_dark():
    root = drawn(Graph.from_edges([("7", "router-of-paris")]), source=1)
    short, long = (label for label in root.iter(f"{SVG}text") if label.get("text-anchor") == "middle")
    circles = {float(circle.get("cx")): circle for circle in root.iter(f"{SVG}circle")}
    assert float(short.get("y")) < float(circles[float(short.get("x"))].get("cy")) + 14
    assert float(long.get("y")) > float(circles[float(long.get("x"))].get("cy")) + 14
    assert long.get("fill") != "#ffffff"
