import numpy as np
import pytest

from cbnet.pipeline.tables.ancestry import meeting, parent_minima
from cbnet.topology import shortest_path_tree, topology


@pytest.mark.parametrize("name", ["grid:1x1", "grid:1x2", "ring:7", "powerlaw:33", "random:50"])
def test_ways_up_meet_at_the_last_common_node_of_both_paths(name):
    graph = topology(name, seed=3)
    tree = shortest_path_tree(graph, len(graph) // 2)
    minima = parent_minima(tree)
    for low, one in enumerate(tree.preorder.tolist()):
        for high, other in enumerate(tree.preorder.tolist()[low:], low):
            paths = zip(tree.path(one), tree.path(other), strict=False)
            expected = [node for node, same in paths if node == same][-1]
            assert meeting(minima, np.array([low]), np.array([high])).tolist() == [tree.positions[expected]]
