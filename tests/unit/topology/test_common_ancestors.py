import numpy as np
import pytest

from cbnet.topology import Graph, shortest_path_tree, topology
from cbnet.topology.common_ancestors import CommonAncestors, subtree_sums


@pytest.mark.parametrize("name", ["grid:1x1", "grid:1x2", "ring:7", "powerlaw:33", "random:50"])
def test_lowest_common_ancestor_is_the_last_common_node_of_both_paths(name):
    graph = topology(name, seed=3)
    tree = shortest_path_tree(graph, len(graph) // 2)
    ancestors = CommonAncestors.of(tree)
    for low, one in enumerate(tree.preorder.tolist()):
        for high, other in enumerate(tree.preorder.tolist()[low:], low):
            paths = zip(tree.path(one), tree.path(other), strict=False)
            expected = [node for node, same in paths if node == same][-1]
            assert ancestors.of_pairs(np.array([low]), np.array([high])).tolist() == [tree.positions[expected]]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_subtree_sums_are_over_all_descendants(dtype):
    tree = shortest_path_tree(topology("powerlaw:60", seed=3), 7)
    values = np.arange(60, dtype=dtype) ** 2
    sums = subtree_sums(tree, values)
    assert sums.dtype == dtype
    assert sums.tolist() == [sum(values[tree.descendants(node)].tolist()) for node in range(60)]


def test_subtree_sums_are_0_outside_the_component_of_the_root():
    graph = Graph.from_edges([(0, 1), (2, 3)])
    sums = subtree_sums(shortest_path_tree(graph, 0), np.ones(4, dtype=np.int64))
    assert sums.tolist() == [2, 1, 0, 0]
