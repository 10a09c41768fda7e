import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.topology import (
    ROOT,
    UNREACHED,
    Graph,
    Ties,
    distances,
    parents,
    shortest_path_tree,
    shortest_path_trees,
    tied_trees,
    topology,
)
from cbnet.topology.shortest_paths import interface_links, random_tree, tree_links


def named_tree(graph, root):
    return shortest_path_tree(graph, graph.id(root))


def names(graph, ids):
    return [graph.name(id) for id in ids]


def test_the_tree_of_the_papers_example(twelve):
    # [2006 Figure 1]: behind the edge from 6 to 7 the tree of 1 holds 4, 7, 8, 11 and 12; behind 6 to 9 nothing
    tree = named_tree(twelve, 1)
    assert sorted(names(twelve, tree.descendants(twelve.id(7)))) == [4, 7, 8, 11, 12]
    assert names(twelve, tree.children(twelve.id(6))) == [2, 7]
    assert names(twelve, tree.path(twelve.id(12))) == [1, 6, 7, 11, 12]
    # 1-6:4, 6-7:3, 7-11:1, 11-12:2
    assert tree.distances[twelve.id(12)] == 10
    assert tree.hops[twelve.id(12)] == 4


def test_of_several_shortest_paths_the_smallest_parent_wins(graph):
    square = graph("0-1 0-2 1-3 2-3")
    assert shortest_path_tree(square, 0).parents.tolist() == [ROOT, 0, 0, 1]
    # 2 is nearer in hops, but both ways have length 3
    weighted = graph("0-1:1 0-3:2 1-2:1 2-3:1 0-4:9")
    assert shortest_path_tree(weighted, 0).parents.tolist() == [ROOT, 0, 1, 0, 0]
    assert shortest_path_tree(graph("0-1:1 0-3:3 1-2:1 2-3:1"), 0).parents.tolist() == [ROOT, 0, 1, 0]


def test_the_two_trees_of_the_tag_paper():
    # [2014 Figures 2, 3]: i and j are neighbours, and 4 hops apart on the tree of b
    links = "bc cg ch bf fj fk be ei ed da ij jk fg"
    graph = Graph.from_edges([tuple(link) for link in links.split()])
    one, two = named_tree(graph, "b"), named_tree(graph, "i")
    assert names(graph, one.path(graph.id("i"))) == ["b", "e", "i"]
    assert names(graph, one.path(graph.id("j"))) == ["b", "f", "j"]
    assert names(graph, two.path(graph.id("j"))) == ["i", "j"]


def test_a_node_stands_before_all_that_is_below_it():
    #        5
    #      /   \
    #     2     7
    #    / \     \
    #   9   1     0      (3 alone)
    graph = Graph.from_edges([(5, 2), (5, 7), (2, 9), (2, 1), (7, 0)], names=[3])
    assert graph.names == (0, 1, 2, 3, 5, 7, 9)
    tree = shortest_path_tree(graph, 4)
    assert names(graph, tree.preorder) == [5, 2, 1, 9, 7, 0]
    assert tree.positions.tolist() == [5, 2, 1, -1, 0, 4, 3]
    assert tree.sizes.tolist() == [1, 1, 3, 0, 6, 2, 1]
    assert tree.hops.tolist() == [2, 2, 1, -1, 0, 1, 2]
    assert tree.parents.tolist() == [5, 2, 4, UNREACHED, ROOT, 4, 2]
    assert np.shares_memory(tree.descendants(2), tree.preorder)
    assert [tree.child_toward(4, node) for node in (0, 1, 2, 5, 6)] == [5, 2, 2, 5, 2]
    assert tree.is_below(2, 6)
    assert tree.is_below(2, 2)
    assert not tree.is_below(2, 5)
    assert not tree.is_below(2, 3)
    assert not tree.is_below(3, 2)


def test_what_is_not_in_the_tree_has_no_path(graph):
    tree = shortest_path_tree(graph("0-1 2-3"), 0)
    assert tree.distances.tolist() == [0, 1, -1, -1]
    with pytest.raises(InputError, match="2 is not reached from node 0"):
        tree.path(2)
    for node in (0, 2):
        with pytest.raises(InputError, match="is not below"):
            tree.child_toward(0, node)


def test_many_trees_at_once_are_the_same(twelve):
    sources = [3, 0, 11]
    trees = [*shortest_path_trees(twelve, sources)]
    assert [tree.root for tree in trees] == sources
    assert (parents(twelve, sources) == [tree.parents for tree in trees]).all()
    assert (distances(twelve, sources) == [tree.distances for tree in trees]).all()
    assert distances(twelve, []).shape == parents(twelve, []).shape == (0, 12)


def test_a_graph_of_one_node_has_a_tree():
    tree = shortest_path_tree(Graph.from_edges([], names=["a"]), 0)
    assert (tree.preorder.tolist(), tree.path(0), tree.children(0).tolist()) == ([0], [0], [])


@pytest.mark.parametrize("root", [-1, 12])
def test_a_root_must_be_a_node(twelve, root):
    for ask in (shortest_path_tree, lambda graph, root: distances(graph, [root])):
        with pytest.raises(InputError, match="from 0 to 11"):
            ask(twelve, root)


def parents_of(trees):
    return [tree.parents.tolist() for tree in trees]


def test_the_smallest_parent_wins_as_in_all_trees():
    graph = topology("random:60", seed=3)
    assert parents_of(tied_trees(graph, [5, 0, 5])) == parents_of(shortest_path_trees(graph, [5, 0, 5]))


def test_random_ties_take_each_parent_as_often(graph):
    # the one tie is at 4: its parent may be 1, 2 or 3
    diamond = graph("0-1 0-2 0-3 1-4 2-4 3-4")
    drawn = [random_tree(diamond, 0, key).parents.tolist() for key in range(3000)]
    assert all(tree[:4] == [ROOT, 0, 0, 0] for tree in drawn)
    # 1000 each; the standard deviation is 26
    assert np.bincount([tree[4] for tree in drawn])[1:].tolist() == pytest.approx([1000] * 3, abs=130)


def test_ties_at_two_nodes_do_not_depend_on_each_other(graph):
    # 3 and 4 both hang below 1 or 2
    drawn = [random_tree(graph("0-1 0-2 1-3 2-3 1-4 2-4"), 0, key).parents.tolist()[3:] for key in range(4000)]
    counts = [drawn.count([one, other]) for one in (1, 2) for other in (1, 2)]
    assert counts == pytest.approx([1000] * 4, abs=140)


def test_a_root_has_one_random_tree_unless_each_is_drawn_afresh():
    graph = topology("grid:8x8")
    one, other, again = parents_of(tied_trees(graph, [0, 9, 0], Ties.RANDOM, seed=1))
    assert one == again != other
    one, _, again = parents_of(tied_trees(graph, [0, 9, 0], Ties.FRESH, seed=1))
    assert one != again


@pytest.mark.parametrize("ties", Ties)
def test_the_first_of_many_trees_are_those_of_fewer(ties):
    graph = topology("grid:6x6")
    roots = [0, 7, 0, 35, 7, 20]
    many = parents_of(tied_trees(graph, roots, ties, seed=4))
    assert parents_of(tied_trees(graph, roots[:3], ties, seed=4)) == many[:3]


def test_the_seed_chooses_random_trees():
    graph = topology("grid:6x6")
    one, same, other = (parents_of(tied_trees(graph, [0, 20], Ties.RANDOM, seed=seed)) for seed in (1, 1, 2))
    assert one == same != other


def test_the_root_of_a_random_tree_must_be_a_node(graph):
    with pytest.raises(InputError, match="from 0 to 1"):
        tied_trees(graph("0-1"), [2], Ties.RANDOM)


def test_both_ends_of_a_link_have_its_number(twelve):
    links = interface_links(twelve).tolist()
    edges = [(u, v) for u, v, _ in twelve.edges()]
    ends = [(u, int(v)) for u in range(12) for v in twelve.neighbours(u)]
    assert [edges[link] for link in links] == [(min(end), max(end)) for end in ends]


def test_a_node_hangs_by_the_link_to_its_parent():
    graph = topology("powerlaw:300", seed=1)
    tree = shortest_path_tree(graph, 17)
    edges = [(u, v) for u, v, _ in graph.edges()]
    found = tree_links(graph, tree, interface_links(graph)).tolist()
    assert found[17] == ROOT
    for node, parent in enumerate(tree.parents.tolist()):
        if node != 17:
            assert edges[found[node]] == (min(node, parent), max(node, parent))
