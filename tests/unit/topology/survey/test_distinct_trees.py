import pytest

from cbnet.topology import Ties, distinct_trees, shortest_path_trees, tied_trees, topology
from cbnet.topology.survey import distinct_trees as tree_interfaces


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
    keys = tree_interfaces._keys(300, 0)
    keys[:, half] = 0
    monkeypatch.setattr(tree_interfaces, "_keys", lambda *_: keys)
    [found] = distinct_trees(graph, trees)
    assert found.tolist() == expected.tolist()
