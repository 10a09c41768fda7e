import pytest

from cbnet.errors import InputError
from cbnet.topology import extra_lengths, shortest_path_trees


def test_neighbours_are_far_apart_on_a_tree(two_trees):
    # [2014 §3.1]: i and j are 4 hops apart on T1, and 1 in the graph; T2 is the tree of i
    graph, trees = two_trees
    i, j = graph.id("i"), graph.id("j")
    on_one, on_both = extra_lengths(graph, trees, i, [1, 2])
    assert (on_one.k, on_one.total[j], on_one.largest[j]) == (1, 3, 3)
    assert (on_both.k, on_both.total[j], on_both.largest[j]) == (2, 3, 3)


def test_averages_of_a_source_by_hand(graph):
    # on the tree of 0, which lacks 1-2, from 1: 1-0 is 1, 1-2 is 2 (1 more), 1-0-3 is 2; on that of 1 nothing is longer
    triangle = graph("0-1 0-2 1-2 0-3")
    trees = [*shortest_path_trees(triangle, [0, 1])]
    [extra] = extra_lengths(triangle, trees, 1)
    assert (extra.source, extra.total.tolist(), extra.largest.tolist()) == (1, [0, 0, 1, 0], [0, 0, 1, 0])
    assert extra.mean == pytest.approx(1 / (2 * 3))
    assert extra.mean_largest == pytest.approx(1 / 3)


def test_on_its_own_tree_a_source_has_no_detours(two_trees):
    graph, trees = two_trees
    for tree in trees:
        [extra] = extra_lengths(graph, [tree], tree.root)
        assert not extra.total.any()


def test_lengths_are_those_of_the_weights(graph):
    # the tree of 0 holds 0-1 and 0-2; on it 1 and 2 are 0.75 + 0.5 apart, in the graph 1: 0.25 more, in hundredths
    weighted = graph("0-1:0.75 0-2:0.5 1-2:1")
    [extra] = extra_lengths(weighted, [*shortest_path_trees(weighted, [0])], 1)
    assert (weighted.scale, extra.total.tolist()) == (100, [0, 0, 25])


def test_what_was_yielded_does_not_change_later(two_trees):
    graph, trees = two_trees
    results = extra_lengths(graph, trees * 2, 0, [1, 4])
    first = next(results)
    before = first.total.copy(), first.largest.copy()
    next(results)
    assert (first.total == before[0]).all()
    assert (first.largest == before[1]).all()


@pytest.mark.parametrize("ks", [[0], [2, 1], [1, 1], [1, 3]])
def test_numbers_of_trees_must_rise(two_trees, ks):
    graph, trees = two_trees
    with pytest.raises(InputError, match="must ascend from 1 to at most 2"):
        [*extra_lengths(graph, trees, 0, ks)]


def test_trees_must_span_the_graph(graph):
    parts = graph("0-1 2-3")
    with pytest.raises(InputError, match="the tree of 2 does not reach all nodes; use the largest"):
        next(extra_lengths(parts, [*shortest_path_trees(parts, [2])], 0))


def test_a_source_must_be_a_node(two_trees):
    graph, trees = two_trees
    with pytest.raises(InputError, match="from 0 to 10"):
        next(extra_lengths(graph, trees, 11))


def test_no_trees_are_an_error(two_trees):
    graph, _ = two_trees
    with pytest.raises(InputError, match="must ascend"):
        next(extra_lengths(graph, [], 0))
