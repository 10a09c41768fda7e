import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.topology import AsClass, as_classes, customer_trees, draw_roots, root_classes, topology
from cbnet.topology.as_classes import degree_classes
from cbnet.topology.edges import EdgeSet, Relation
from cbnet.topology.graph import Graph


def graph_of(*lines):
    edges = EdgeSet()
    for u, v, relation in lines:
        edges.add(u, v, relation=relation)
    return Graph.from_edge_set(edges)


def customers(provider, first, count):
    return [(provider, first + place, Relation.CUSTOMER) for place in range(count)]


def class_of(graph, name):
    return AsClass(as_classes(graph)[graph.id(name)]).label


def test_a_customer_tree_holds_customers_of_customers_once():
    # 1 over 2 and 3, both over 4; 5 is a peer of 1, 6 its sibling, 7 a provider of 1
    graph = graph_of((1, 2, Relation.CUSTOMER), (1, 3, Relation.CUSTOMER), (2, 4, Relation.CUSTOMER),
                     (3, 4, Relation.CUSTOMER), (1, 5, Relation.PEER), (6, 1, Relation.SIBLING),
                     (7, 1, Relation.CUSTOMER))  # fmt: skip
    assert customer_trees(graph).tolist() == [3, 1, 1, 0, 0, 0, 4]


def test_customers_in_a_circle_are_counted_once():
    graph = graph_of((1, 2, Relation.CUSTOMER), (2, 3, Relation.CUSTOMER), (3, 1, Relation.CUSTOMER))
    assert customer_trees(graph).tolist() == [2, 2, 2]


@pytest.mark.parametrize(("count", "label"), [(4, "Stub"), (5, "Small"), (49, "Small"), (50, "Large")])
def test_the_size_of_the_customer_tree_makes_the_class(count, label):
    # [2014 §4.1]: 50 or more, between 5 and 50, less than 5; AS 1 has a provider, so it is no Tier-1
    graph = graph_of((0, 1, Relation.CUSTOMER), *customers(1, 100, count))
    assert class_of(graph, 1) == label
    assert class_of(graph, 100) == "Stub"


def test_tier_1_are_large_have_no_provider_and_know_each_other():
    graph = graph_of(
        *customers(1, 100, 60), *customers(2, 200, 55), *customers(3, 300, 52), *customers(4, 400, 51),
        *customers(5, 500, 50), *customers(6, 600, 10),
        (1, 2, Relation.PEER), (1, 3, Relation.SIBLING), (2, 3, Relation.PEER),  # 1, 2 and 3 know each other
        (4, 1, Relation.PEER), (4, 2, Relation.PEER),  # 4 does not know 3
        (1, 5, Relation.CUSTOMER), (5, 2, Relation.PEER), (5, 3, Relation.PEER),  # 5 has a provider
        (6, 1, Relation.PEER), (6, 2, Relation.PEER), (6, 3, Relation.PEER),  # 6 is small
    )  # fmt: skip
    assert [class_of(graph, name) for name in range(1, 7)] == ["Tier-1"] * 3 + ["Large", "Large", "Small"]


def test_as_like_graphs_have_a_core_and_many_stubs():
    classes = as_classes(topology("aslike:1000", seed=1))
    assert 1 <= (classes == AsClass.TIER_1).sum() <= 6
    assert (classes == AsClass.STUB).sum() > 800


def test_without_relations_there_are_no_classes(twelve):
    with pytest.raises(InputError, match="has no relations between ASes"):
        as_classes(twelve)


TIER_1, LARGE, SMALL, STUB = AsClass


def shares(classes, roots):
    return (np.bincount(classes[roots], minlength=4) / len(roots)).tolist()


def test_classes_are_drawn_by_the_chances_of_the_paper():
    # [2014 §4.1]: 40, 30, 20 and 10 %, however many nodes a class has; the standard deviation is below 0.4 %
    classes = np.array([TIER_1] * 18 + [LARGE] * 498 + [SMALL] * 1603 + [STUB] * 39084, dtype=np.int8)
    roots = draw_roots(classes, 20_000)
    assert shares(classes, roots) == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.015)


def test_nodes_of_a_class_are_drawn_alike_and_with_replacement():
    classes = np.array([STUB, TIER_1, TIER_1, STUB, TIER_1, TIER_1], dtype=np.int8)
    counts = np.bincount(draw_roots(classes, 10_000, seed=1), minlength=6)
    # 8 of 10 go to the four of Tier-1, 2 to the two stubs
    assert counts.tolist() == pytest.approx([1000, 2000, 2000, 1000, 2000, 2000], abs=200)


def test_a_class_without_nodes_is_left_out():
    classes = np.array([LARGE, STUB, STUB], dtype=np.int8)
    # 30 to 10
    assert shares(classes, draw_roots(classes, 10_000)) == pytest.approx([0, 0.75, 0, 0.25], abs=0.02)


def test_the_first_of_many_roots_are_those_of_fewer():
    classes = root_classes(topology("powerlaw:300"))
    many = draw_roots(classes, 128, seed=7).tolist()
    assert draw_roots(classes, 8, seed=7).tolist() == many[:8]
    assert draw_roots(classes, 8, seed=8).tolist() != many[:8]


def test_without_relations_classes_go_by_degree():
    graph = topology("powerlaw:2000", seed=1)
    classes = root_classes(graph)
    # 0.05 % are 1; 1.25 % are 25, so 24 more; 5 % are 100, so 75 more
    assert np.bincount(classes).tolist() == [1, 24, 75, 1900]
    for kind in (TIER_1, LARGE, SMALL):
        assert graph.degrees[classes == kind].min() >= graph.degrees[classes == kind + 1].max()


def test_every_class_by_degree_has_a_node_if_there_are_enough(graph):
    # degrees 3, 2, 2, 1: of the equal ones, the smaller comes first
    assert degree_classes(graph("0-1 0-2 0-3 1-2")).tolist() == [TIER_1, LARGE, SMALL, STUB]
    assert degree_classes(graph("0-1")).tolist() == [TIER_1, LARGE]


def test_with_relations_classes_go_by_customers():
    graph = topology("aslike:300")
    assert (root_classes(graph) == as_classes(graph)).all()


@pytest.mark.parametrize(("count", "seed", "problem"), [(0, 0, "trees must be at least 1"), (1, -1, "the seed")])
def test_bad_numbers_are_refused(count, seed, problem):
    with pytest.raises(InputError, match=problem):
        draw_roots(np.zeros(3, dtype=np.int8), count, seed=seed)
