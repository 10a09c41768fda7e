import pytest

from cbnet.errors import InputError
from cbnet.topology import AsClass, as_classes, customer_trees, topology
from cbnet.topology.graph.edges import EdgeSet, Relation
from cbnet.topology.graph.graph import Graph


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
