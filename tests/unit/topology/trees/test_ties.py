import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.topology import ROOT, Ties, shortest_path_trees, tied_trees, topology
from cbnet.topology.trees.ties import random_tree


def parents(trees):
    return [tree.parents.tolist() for tree in trees]


def test_the_smallest_parent_wins_as_in_all_trees():
    graph = topology("random:60", seed=3)
    assert parents(tied_trees(graph, [5, 0, 5])) == parents(shortest_path_trees(graph, [5, 0, 5]))


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
    one, other, again = parents(tied_trees(graph, [0, 9, 0], Ties.RANDOM, seed=1))
    assert one == again != other
    one, _, again = parents(tied_trees(graph, [0, 9, 0], Ties.FRESH, seed=1))
    assert one != again


@pytest.mark.parametrize("ties", Ties)
def test_the_first_of_many_trees_are_those_of_fewer(ties):
    graph = topology("grid:6x6")
    roots = [0, 7, 0, 35, 7, 20]
    many = parents(tied_trees(graph, roots, ties, seed=4))
    assert parents(tied_trees(graph, roots[:3], ties, seed=4)) == many[:3]


def test_the_seed_chooses_random_trees():
    graph = topology("grid:6x6")
    one, same, other = (parents(tied_trees(graph, [0, 20], Ties.RANDOM, seed=seed)) for seed in (1, 1, 2))
    assert one == same != other


def test_a_root_must_be_a_node(graph):
    with pytest.raises(InputError, match="from 0 to 1"):
        tied_trees(graph("0-1"), [2], Ties.RANDOM)
