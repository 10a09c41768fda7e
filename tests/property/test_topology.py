"""Laws of graphs: trees against brute force, and what their arrays promise; readers that never break."""

from itertools import pairwise

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.graph_reference import (
    reference_betweenness,
    reference_distances,
    reference_parents,
    reference_preorder,
)

from cbnet.errors import InputError
from cbnet.topology import (
    ROOT,
    UNREACHED,
    Graph,
    betweenness,
    bridges,
    components,
    distances,
    parents,
    shortest_path_tree,
    shortest_path_trees,
    topology,
)
from cbnet.topology.edges import EdgeSet
from cbnet.topology.graph_files import read_as_relations, read_edge_list, read_graph
from cbnet.topology.graphml import read_graphml

# Few different weights, so that there are many ties; some far apart, so that detours pay.
weights = st.just(1) | st.sampled_from([1, 2, 3]) | st.sampled_from([1, 7, 50])


@st.composite
def graphs(draw, max_nodes=9):
    n = draw(st.integers(1, max_nodes))
    possible = [(u, v) for v in range(n) for u in range(v)]
    chosen = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    weight = draw(st.sampled_from([st.just(1), weights]))
    return Graph.from_edges([(u, v, draw(weight)) for u, v in chosen], names=range(n))


def drawn(graph):
    """Return the graph as networkx has it."""
    other = networkx.Graph()
    other.add_nodes_from(range(len(graph)))
    other.add_weighted_edges_from(graph.edges())
    return other


def trees(graph):
    return [*shortest_path_trees(graph, range(len(graph)))]


@given(graphs())
def test_distances_are_those_of_floyd_and_warshall(graph):
    expected = networkx.floyd_warshall_numpy(drawn(graph), nodelist=range(len(graph)))
    expected[np.isinf(expected)] = -1
    assert (distances(graph, range(len(graph))) == expected).all()
    assert [tree.distances.tolist() for tree in trees(graph)] == expected.tolist()


@given(graphs())
def test_trees_are_those_of_the_reference(graph):
    nodes = range(len(graph))
    assert distances(graph, nodes).tolist() == [reference_distances(graph, root) for root in nodes]
    assert parents(graph, nodes).tolist() == [reference_parents(graph, root) for root in nodes]
    for tree in trees(graph):
        assert tree.parents.tolist() == reference_parents(graph, tree.root)
        assert tree.preorder.tolist() == [*reference_preorder(tree.parents.tolist(), tree.root)]


@given(graphs())
def test_paths_lead_over_edges_and_add_up(graph):
    for tree in trees(graph):
        for node in tree.preorder.tolist():
            path = tree.path(node)
            assert (path[0], path[-1], len(path)) == (tree.root, node, tree.hops[node] + 1)
            assert sum(graph.weight(u, v) for u, v in pairwise(path)) == tree.distances[node]


@given(graphs())
def test_below_a_node_the_tree_of_the_root_follows_the_tree_of_the_node(graph):
    every = trees(graph)
    for tree in every:
        for u in tree.preorder.tolist():
            below = tree.descendants(u)[1:]
            assert (tree.parents[below] == every[u].parents[below]).all()


@given(graphs())
def test_preorder_sizes_children_and_descendants_agree(graph):
    for tree in trees(graph):
        assert sorted(tree.preorder.tolist()) == np.flatnonzero(tree.parents != UNREACHED).tolist()
        assert (tree.preorder[tree.positions[tree.preorder]] == tree.preorder).all()
        for u in tree.preorder.tolist():
            below = [x for x in tree.preorder.tolist() if u in tree.path(x)]
            assert tree.descendants(u).tolist() == below
            assert tree.sizes[u] == len(below)
            assert tree.children(u).tolist() == [x for x in range(len(graph)) if tree.parents[x] == u]
            assert [x for x in range(len(graph)) if tree.is_below(u, x)] == sorted(below)
            assert [tree.child_toward(u, x) for x in below[1:]] == [tree.path(x)[tree.hops[u] + 1] for x in below[1:]]
        outside = tree.parents == UNREACHED
        assert (tree.sizes[outside] == 0).all()
        assert (tree.positions[outside] == -1).all()
        assert (tree.hops[outside] == -1).all()
        assert tree.parents[tree.root] == ROOT


@given(graphs(12))
def test_components_are_those_of_networkx(graph):
    expected = sorted(map(sorted, networkx.connected_components(drawn(graph))), key=lambda nodes: (-len(nodes), nodes))
    assert [nodes.tolist() for nodes in components(graph)] == expected


@given(graphs(12))
def test_bridges_are_those_of_networkx(graph):
    assert bridges(graph) == sorted(tuple(sorted(edge)) for edge in networkx.bridges(drawn(graph)))


@given(graphs())
def test_betweenness_is_that_of_networkx_and_of_the_definition(graph):
    expected = networkx.betweenness_centrality(drawn(graph), weight="weight")
    assert betweenness(graph).tolist() == pytest.approx([expected[node] for node in range(len(graph))])
    assert betweenness(graph).tolist() == pytest.approx(reference_betweenness(graph))


@pytest.mark.parametrize("kind", ["random:60", "random:40,degree=20", "powerlaw:60,m=1", "grid:7x8", "ring:50"])
@pytest.mark.parametrize("option", ["", ",weights=4"])
def test_larger_graphs_follow_the_same_rules(kind, option):
    graph = topology(kind + option, seed=len(option))
    nodes = [0, 17, len(graph) - 1]
    assert parents(graph, nodes).tolist() == [reference_parents(graph, root) for root in nodes]
    tree = shortest_path_tree(graph, 17)
    assert tree.preorder.tolist() == [*reference_preorder(tree.parents.tolist(), 17)]


names = st.integers(-5, 10**6) | st.text(st.characters(categories=["L", "N", "P"], exclude_characters="#,"), min_size=1)


@given(st.lists(st.tuples(names, names, st.integers(1, 10**9), st.integers(0, 6))))
def test_edge_lists_are_read_as_they_are_written(edges):
    said = [(u, v, f"{weight}e-{digits}") for u, v, weight, digits in edges]
    try:
        expected = Graph.from_edges(said)
    except InputError:
        return
    for separator in (" ", ", "):
        read = EdgeSet("e.txt")
        read_edge_list("".join(separator.join(map(str, edge)) + "\n" for edge in said), read)
        graph = Graph.from_edge_set(read)
        assert graph.names == expected.names
        assert (graph.scale, [*graph.edges()]) == (expected.scale, [*expected.edges()])


pieces = st.sampled_from([
    "1|2|-1", "2|1|0", "a b", "b,c,0.5", "\n", "\n", "|", ",", " ", "-", "1", "#", "<", ">", '"', "<graphml>", "</graphml>",
    "<graph>", '<node id="1"/>', '<edge source="1" target="1">', "</edge>", "<data key='w'>", "&#0;", "\0", "\r", "1e99",
])  # fmt: skip
any_content = st.lists(pieces | st.text(max_size=4)).map("".join)


@pytest.mark.parametrize("read", [read_edge_list, read_as_relations, read_graphml])
@given(text=any_content)
def test_no_text_breaks_a_reader(read, text):
    edges = EdgeSet("file")
    try:
        read(text, edges)
        graph = Graph.from_edge_set(edges)
    except InputError:
        return
    assert len(graph.targets) == graph.offsets[-1] == 2 * graph.edge_count


@given(st.binary() | any_content.map(lambda text: text.encode(errors="replace")))
def test_no_content_breaks_the_reading_of_files(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "graph"
    path.write_bytes(data)
    try:
        assert len(read_graph(path)) > 0
    except InputError as error:
        assert error.file == str(path)


kinds = st.sampled_from(["ring:", "grid:", "tree:", "random:", "powerlaw:", "aslike:", "rign:", ""])
numbers = st.integers(-2, 40).map(str) | st.sampled_from(["4x5", "", "x", "1e3", "9" * 30])
options = st.sampled_from([",arity=", ",degree=", ",m=", ",weights=", ",", "=", "x"])


@given(kinds, numbers, st.lists(st.tuples(options, numbers).map("".join), max_size=2).map("".join))
def test_a_text_names_a_connected_graph_or_nothing(kind, number, further):
    try:
        graph = topology(kind + number + further)
    except InputError:
        return
    assert len(components(graph)) == 1
