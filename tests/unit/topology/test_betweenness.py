import numpy as np
import pytest

from cbnet.topology import Graph, betweenness, most_central, topology


def test_lines_stars_and_rings_by_hand(graph):
    # on a line of 4 the second lies between 0-2 and 0-3, of the 3 pairs without it
    assert betweenness(graph("0-1 1-2 2-3")).tolist() == pytest.approx([0, 2 / 3, 2 / 3, 0])
    assert betweenness(topology("tree:6,arity=5")).tolist() == pytest.approx([1, 0, 0, 0, 0, 0])
    # on a ring of 4 each lies on one of two paths between its neighbours, one pair of 3
    assert betweenness(topology("ring:4")).tolist() == pytest.approx([1 / 6] * 4)


def test_weights_decide_which_paths_are_short(graph):
    # from 0 to 2 it is 2 over 1 and 3 directly
    assert betweenness(graph("0-1:1 1-2:1 0-2:3")).tolist() == [0, 1, 0]


@pytest.mark.parametrize("names", ["a", "ab"])
def test_without_pairs_of_others_it_is_nothing(names):
    edges = [("a", "b")] if len(names) == 2 else []
    assert betweenness(Graph.from_edges(edges, names=names)).tolist() == [0] * len(names)


def test_the_most_central_is_the_smallest_of_equals(graph):
    assert most_central(graph("3-1 3-2 2-1 3-4")) == 2  # the node called 3
    assert most_central(topology("ring:7")) == 0
    assert most_central(topology("grid:3x3")) == 4


def test_few_sources_say_almost_the_same():
    graph = topology("powerlaw:1500", seed=2)
    exact, sampled = betweenness(graph, sources=None), betweenness(graph, sources=300)
    assert np.abs(exact - sampled).max() < 0.05
    assert np.argmax(exact) == np.argmax(sampled)


def test_paths_beyond_the_largest_float_are_counted():
    #    1       4
    #  /   \   /   \
    # 0      3      6 …     every diamond doubles the paths: 2**1100 from end to end
    #  \   /   \   /
    #    2       5
    count = 1100
    graph = Graph.from_edges(
        edge for u in range(0, 3 * count, 3) for edge in ((u, u + 1), (u, u + 2), (u + 1, u + 3), (u + 2, u + 3))
    )
    shares = betweenness(graph, sources=None)
    pairs = 3 * count * (3 * count - 1) / 2
    # between all on its left and on its right, and on one of two ways inside the diamonds beside it
    joints = [3 * i * (3 * count - 3 * i) + (i > 0) / 2 + (i < count) / 2 for i in range(count + 1)]
    assert (shares[::3] * pairs).tolist() == pytest.approx(joints)
    # on one of two ways between what is on the left of its diamond and what is on the right
    assert (shares[1::3] * pairs).tolist() == pytest.approx(
        [(3 * i + 1) * (3 * count - 3 * i - 2) / 2 for i in range(count)]
    )
