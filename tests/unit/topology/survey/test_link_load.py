import pytest

from cbnet.topology import extra_lengths, link_load, path_lengths, shortest_path_trees, topology


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
