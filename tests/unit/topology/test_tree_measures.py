import pytest

from cbnet.errors import InputError
from cbnet.topology import (
    Ties,
    distinct_trees,
    extra_lengths,
    link_load,
    path_lengths,
    shortest_path_trees,
    tied_trees,
    topology,
    tree_measures,
)


def by_name(graph, counts):
    """Return the counts by the names of router and neighbour."""
    routers = [u for u in range(len(graph)) for _ in graph.neighbours(u)]
    names = ((graph.name(u), graph.name(v)) for u, v in zip(routers, graph.targets.tolist(), strict=True))
    return dict(zip(names, counts.tolist(), strict=True))


def test_the_interfaces_of_the_papers_router(two_trees):
    # [2014 Figure 3]: behind b's interfaces are, on T1, c {c g h}, f {f j k} and e {a d e i}; on T2, c {c h} and
    # e {a d e f g i j k}, and b and f are no neighbours
    graph, trees = two_trees
    found = by_name(graph, *distinct_trees(graph, trees))
    assert {name: count for (router, name), count in found.items() if router == "b"} == {"c": 2, "e": 2, "f": 1}
    # h is a leaf on both trees; i-j and f-g are on T2 alone, c-g on T1 alone, and j-k on T2 alone
    assert {found[pair] for pair in (("h", "c"), ("c", "h"))} == {1}
    assert [found[tuple(pair)] for pair in ("ij", "ji", "fg", "cg", "jk")] == [1, 1, 1, 1, 1]


def test_an_interface_that_no_tree_uses_counts_nothing(two_trees):
    graph, trees = two_trees
    found = by_name(graph, *distinct_trees(graph, trees[:1]))
    assert [found[tuple(pair)] for pair in ("ij", "gf", "jk")] == [0, 0, 0]
    assert sum(found.values()) == 2 * 10  # a tree of 11 nodes has 10 links


def test_equal_trees_count_once(two_trees):
    graph, trees = two_trees
    [once] = distinct_trees(graph, trees)
    [again] = distinct_trees(graph, trees * 5)
    assert once.tolist() == again.tolist()


def test_a_graph_that_is_a_tree_has_one_of_them():
    graph = topology("tree:40")
    [found] = distinct_trees(graph, [*shortest_path_trees(graph, range(40))])
    assert found.tolist() == [1] * 78


def test_more_trees_never_have_fewer_sets():
    graph = topology("random:200", seed=5)
    trees = tied_trees(graph, range(0, 200, 5), Ties.RANDOM)
    counts = [*distinct_trees(graph, trees, [1, 7, 40])]
    for k, fewer, more in zip([7, 40], counts, counts[1:], strict=False):
        assert (fewer <= more).all()
        assert more.max() <= k


def test_other_keys_find_the_same():
    graph = topology("powerlaw:300", seed=2)
    trees = [*shortest_path_trees(graph, range(60))]
    found = [[counts.tolist() for counts in distinct_trees(graph, trees, [5, 60], seed=seed)] for seed in range(3)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("half", [0, 1])
def test_both_halves_of_a_key_tell_sets_apart(monkeypatch, half):
    graph = topology("powerlaw:300", seed=2)
    trees = [*shortest_path_trees(graph, range(60))]
    [expected] = distinct_trees(graph, trees)
    keys = tree_measures._keys(300, 0)
    keys[:, half] = 0
    monkeypatch.setattr(tree_measures, "_keys", lambda *_: keys)
    [found] = distinct_trees(graph, trees)
    assert found.tolist() == expected.tolist()


def test_a_line_by_hand(graph):
    # 0-1-2-3, from any root: 1 x 3 pairs over the first link, 2 x 2 over the second, both ways
    line = graph("0-1 1-2 2-3")
    [load] = link_load(line, [*shortest_path_trees(line, [2])])
    assert load.tolist() == [6, 8, 6]


def test_trees_share_the_load(graph):
    # the tree of 0 has 0-1 and 0-2, each crossed by 1 x 2 pairs, both ways; that of 1 has 0-1 and 1-2
    triangle = graph("0-1 0-2 1-2")
    one, both = link_load(triangle, [*shortest_path_trees(triangle, [0, 1])], [1, 2])
    assert one.tolist() == [4, 4, 0]
    assert both.tolist() == [4, 2, 2]


@pytest.mark.parametrize("k", [1, 3])
def test_every_hop_of_every_path_is_one_crossing(k):
    graph = topology("random:80", seed=9)
    trees = [*shortest_path_trees(graph, range(k))]
    [load] = link_load(graph, trees)
    extra = sum(int(next(extra_lengths(graph, trees, source)).total.sum()) for source in range(80))
    assert load.sum() == pytest.approx(path_lengths(graph, sources=None).total + extra / k)


def test_a_tree_of_n_nodes_uses_n_less_one_links(two_trees):
    graph, trees = two_trees
    one, both = link_load(graph, trees, [1, 2])
    # T2 also has i-j, f-g and j-k
    assert ((one > 0).sum(), (both > 0).sum()) == (10, 13)


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
