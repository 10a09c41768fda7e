from itertools import combinations

import pytest
from support.tree_reference import reference_tree_path

from cbnet.pipeline.tables.tree_centrality import most_central_routers, pairs_through
from cbnet.topology import Graph, shortest_path_tree, topology


@pytest.mark.parametrize("name", ["grid:1x1", "grid:1x5", "powerlaw:25"])
def test_pairs_are_those_whose_path_leads_through(name):
    graph = topology(name, seed=1)
    tree = shortest_path_tree(graph, 0)
    expected = [0] * len(graph)
    for pair in combinations(range(len(graph)), 2):
        for node in reference_tree_path(tree.parents.tolist(), *pair)[1:-1]:
            expected[node] += 1
    assert pairs_through(tree).tolist() == expected
    ranked = most_central_routers(tree).tolist()
    assert ranked == sorted(range(len(graph)), key=lambda node: (-expected[node], node))


def test_only_nodes_of_the_tree_are_ranked():
    tree = shortest_path_tree(Graph.from_edges([(0, 1), (1, 2), (3, 4)]), 0)
    assert most_central_routers(tree).tolist() == [1, 0, 2]
    assert pairs_through(tree).tolist() == [0, 1, 0, 0, 0]
