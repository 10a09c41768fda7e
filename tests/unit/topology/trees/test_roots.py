import numpy as np
import pytest

from cbnet.errors import InputError
from cbnet.topology import AsClass, as_classes, draw_roots, root_classes, topology
from cbnet.topology.trees.roots import degree_classes

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
