"""Laws of many trees: paths, sets behind interfaces and loads, against their definitions and against networkx."""

from itertools import pairwise, permutations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tree_reference import (
    reference_chosen_parents,
    reference_distinct_trees,
    reference_extra_lengths,
    reference_link_load,
    reference_tree_path,
)

from cbnet.topology import (
    ROOT,
    Graph,
    Ties,
    distances,
    distinct_trees,
    draw_roots,
    extra_lengths,
    link_load,
    root_classes,
    tied_trees,
    topology,
)
from cbnet.topology.shortest_paths import random_tree
from cbnet.topology.survey import survey_stretch


@st.composite
def connected(draw, max_nodes=8):
    """Return a connected graph with many ties: a tree and some edges more, with few different weights."""
    n = draw(st.integers(2, max_nodes))
    edges = {(draw(st.integers(0, child - 1)), child) for child in range(1, n)}
    edges |= draw(st.sets(st.sampled_from([(u, v) for v in range(n) for u in range(v)])))
    weight = draw(st.sampled_from([st.just(1), st.integers(1, 3)]))
    return Graph.from_edges([(u, v, draw(weight)) for u, v in sorted(edges)])


@st.composite
def forests(draw):
    """Return a connected graph and some of its trees."""
    graph = draw(connected())
    roots = draw(st.lists(st.integers(0, len(graph) - 1), min_size=1, max_size=5))
    return graph, tied_trees(graph, roots, draw(st.sampled_from(Ties)), seed=draw(st.integers(0, 99)))


def parents(trees):
    return [tree.parents.tolist() for tree in trees]


def drawn(graph, tree):
    """Return the tree as networkx has it."""
    other = networkx.Graph()
    other.add_nodes_from(range(len(graph)))
    links = ((node, parent) for node, parent in enumerate(tree) if parent != ROOT)
    other.add_weighted_edges_from((u, v, graph.weight(u, v)) for u, v in links)
    return other


@given(forests())
def test_paths_on_trees_are_those_of_networkx(forest):
    graph, trees = forest
    for tree in parents(trees):
        other = drawn(graph, tree)
        for source, target in permutations(range(len(graph)), 2):
            assert reference_tree_path(tree, source, target) == networkx.shortest_path(other, source, target)


@given(forests())
def test_extra_lengths_are_those_of_the_paths(forest):
    graph, trees = forest
    ks = range(1, len(trees) + 1)
    for source in range(len(graph)):
        expected = np.array([reference_extra_lengths(graph, tree, source) for tree in parents(trees)])
        shortest = distances(graph, [source])[0]
        by_networkx = [
            networkx.single_source_dijkstra_path_length(drawn(graph, tree), source) for tree in parents(trees)
        ]
        assert expected.tolist() == [[lengths[x] - shortest[x] for x in range(len(graph))] for lengths in by_networkx]
        for k, extra in zip(ks, extra_lengths(graph, trees, source, ks), strict=True):
            assert extra.total.tolist() == expected[:k].sum(axis=0).tolist()
            assert extra.largest.tolist() == expected[:k].max(axis=0).tolist()
            assert extra.mean == pytest.approx(expected[:k].mean() * len(graph) / (len(graph) - 1))


@given(forests())
def test_distinct_trees_are_distinct_sets(forest):
    graph, trees = forest
    ks = range(1, len(trees) + 1)
    for k, actual in zip(ks, distinct_trees(graph, trees, ks), strict=True):
        assert actual.tolist() == reference_distinct_trees(graph, parents(trees[:k]))


@given(forests())
def test_sets_behind_interfaces_are_the_components_without_a_link(forest):
    graph, trees = forest
    sets = {(u, v): set() for u in range(len(graph)) for v in graph.neighbours(u).tolist()}
    for tree in parents(trees):
        other = drawn(graph, tree)
        for u, v in [*other.edges]:
            other.remove_edge(u, v)
            sets[u, v].add(frozenset(networkx.node_connected_component(other, v)))
            sets[v, u].add(frozenset(networkx.node_connected_component(other, u)))
            other.add_edge(u, v)
    [actual] = distinct_trees(graph, trees)
    assert actual.tolist() == [*map(len, sets.values())]


@given(forests())
def test_load_counts_all_pairs_that_cross(forest):
    graph, trees = forest
    ks = range(1, len(trees) + 1)
    for k, load in zip(ks, link_load(graph, trees, ks), strict=True):
        assert load.tolist() == pytest.approx(reference_link_load(graph, parents(trees[:k])))


@given(forests())
def test_load_on_one_tree_is_the_betweenness_of_its_links(forest):
    graph, trees = forest
    [load] = link_load(graph, trees[:1])
    expected = networkx.edge_betweenness_centrality(drawn(graph, trees[0].parents.tolist()), normalized=False)
    by_link = {frozenset(link): 2 * value for link, value in expected.items()}  # it counts a pair once
    assert load.tolist() == pytest.approx([by_link.get(frozenset((u, v)), 0) for u, v, _ in graph.edges()])


@given(connected(), st.integers(0, 2**64 - 1), st.data())
def test_random_trees_are_those_of_the_reference_and_hold_shortest_paths(graph, key, data):
    root = data.draw(st.integers(0, len(graph) - 1))
    tree = random_tree(graph, root, key)
    assert tree.parents.tolist() == reference_chosen_parents(graph, root, key)
    assert tree.distances.tolist() == distances(graph, [root])[0].tolist()
    for node in range(len(graph)):
        path = tree.path(node)
        assert len(path) == tree.hops[node] + 1
        assert sum(graph.weight(u, v) for u, v in pairwise(path)) == tree.distances[node]
        assert sorted(tree.descendants(node)) == [x for x in range(len(graph)) if node in tree.path(x)]


@given(forests())
def test_stretch_over_sources_is_that_of_all_pairs(forest):
    graph, trees = forest
    sources = range(len(graph))
    [actual] = survey_stretch(graph, trees, [len(trees)], sources)
    rows = [np.array([reference_extra_lengths(graph, tree, source) for tree in parents(trees)]) for source in sources]
    totals = [int(row[:, x].sum()) for s, row in enumerate(rows) for x in sources if x != s]
    largest = [int(row[:, x].max()) for s, row in enumerate(rows) for x in sources if x != s]
    percentiles = range(1, 100)
    assert actual.totals.percentiles(percentiles) == np.percentile(totals, percentiles, method="inverted_cdf").tolist()
    assert (
        actual.largest.percentiles(percentiles) == np.percentile(largest, percentiles, method="inverted_cdf").tolist()
    )
    assert actual.means.mean() == pytest.approx(np.mean(totals) / len(trees))
    assert actual.means_largest.mean() == pytest.approx(np.mean(largest))


@pytest.mark.parametrize("spec", ["powerlaw:60", "grid:6x7", "random:50,weights=4", "ring:31"])
@pytest.mark.parametrize("ties", Ties)
def test_larger_graphs_follow_the_same_definitions(spec, ties):
    graph = topology(spec, seed=3)
    trees = tied_trees(graph, draw_roots(root_classes(graph), 6, seed=1).tolist(), ties, seed=2)
    rows = parents(trees)
    assert next(distinct_trees(graph, trees)).tolist() == reference_distinct_trees(graph, rows)
    assert next(link_load(graph, trees)).tolist() == pytest.approx(reference_link_load(graph, rows))
    for source in (0, len(graph) - 1):
        expected = np.array([reference_extra_lengths(graph, row, source) for row in rows])
        assert next(extra_lengths(graph, trees, source)).total.tolist() == expected.sum(axis=0).tolist()
