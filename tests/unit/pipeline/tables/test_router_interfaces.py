from itertools import combinations

import numpy as np
import pytest
from support.descriptor_reference import reference_behind
from support.tree_reference import reference_tree_path

from cbnet.errors import InputError
from cbnet.pipeline.tables.router_interfaces import (
    NO_INTERFACE,
    RouterInterfaces,
    Targets,
    most_central_routers,
    neighbours_toward,
    pairs_through,
)
from cbnet.topology import Graph, shortest_path_tree, shortest_path_trees, topology


@pytest.fixture(scope="module")
def trees():
    return [*shortest_path_trees(topology("powerlaw:40", seed=2), [0, 7, 30])]


def test_each_node_is_behind_one_neighbour_of_a_router(trees):
    for tree in trees:
        for router in range(40):
            actual = neighbours_toward(tree, router)
            assert actual[router] == NO_INTERFACE
            for neighbour in {*actual.tolist()} - {NO_INTERFACE}:
                behind = {*np.flatnonzero(actual == neighbour).tolist()}
                assert behind == reference_behind(tree, router, neighbour)


def test_unreached_node_has_no_interface():
    graph = Graph.from_edges([(0, 1), (2, 3)])
    tree = shortest_path_tree(graph, 0)
    assert neighbours_toward(tree, 1).tolist() == [0, NO_INTERFACE, NO_INTERFACE, NO_INTERFACE]


def test_interfaces_of_several_routers_and_trees_are_distinct(trees):
    routers = [7, 0, 12]
    interfaces = RouterInterfaces.of(trees, routers)
    for index, router in enumerate(routers):
        for number, tree in enumerate(trees):
            groups = interfaces.by_node[index, number]
            known = groups != NO_INTERFACE
            assert (interfaces.routers[groups[known]] == router).all()
            assert (
                np.where(known, interfaces.neighbours[groups], NO_INTERFACE) == neighbours_toward(tree, router)
            ).all()
    pairs = [*zip(interfaces.routers.tolist(), interfaces.neighbours.tolist(), strict=True)]
    assert len({*pairs}) == len(pairs)


def test_targets_have_a_bit_for_each_tree(trees):
    interfaces = RouterInterfaces.of(trees, [7, 0])
    targets = interfaces.targets()
    for node in range(40):
        own = slice(targets.offsets[node], targets.offsets[node + 1])
        actual = dict(zip(targets.groups[own].tolist(), targets.masks[own].tolist(), strict=True))
        expected = {}
        for index in range(2):
            for number in range(3):
                group = int(interfaces.by_node[index, number, node])
                if group != NO_INTERFACE:
                    expected[group] = expected.get(group, 0) | 1 << number
        assert actual == expected


def test_sums_are_over_the_nodes_behind(trees):
    interfaces = RouterInterfaces.of(trees, [7, 0])
    values = np.arange(40) ** 2
    for number, tree in enumerate(trees):
        sums = interfaces.sums(values, number).tolist()
        for router, neighbour, actual in zip(interfaces.routers, interfaces.neighbours, sums, strict=True):
            is_on_tree = tree.parents[neighbour] == router or tree.parents[router] == neighbour
            behind = reference_behind(tree, router, neighbour) if is_on_tree else ()
            assert actual == sum(node**2 for node in behind)


def test_each_node_may_be_its_own_group():
    targets = Targets.of_nodes(3)
    assert (targets.offsets.tolist(), targets.groups.tolist(), targets.masks.tolist()) == (
        [0, 1, 2, 3],
        [0, 1, 2],
        [1] * 3,
    )


@pytest.mark.parametrize("routers", [[1, 1], [40], [-1]])
def test_routers_must_be_distinct_and_in_the_tree(trees, routers):
    with pytest.raises(InputError):
        RouterInterfaces.of(trees, routers)


def test_there_is_a_limit_of_trees(trees):
    with pytest.raises(InputError, match="the number of trees must be from 1 to 1024, not 1025"):
        RouterInterfaces.of(trees[:1] * 1025, [0])


def test_targets_of_some_trees_have_the_masks_of_these_trees_alone(trees):
    interfaces = RouterInterfaces.of(trees, [0, 3])
    some, alone = interfaces.targets(range(1, 2)), RouterInterfaces.of(trees[1:2], [0, 3]).targets()
    assert some.offsets.tolist() == alone.offsets.tolist()
    assert some.masks.tolist() == alone.masks.tolist() == [1] * len(some.groups)


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
