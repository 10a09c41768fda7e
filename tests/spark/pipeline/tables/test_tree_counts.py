import pytest
from support.crowds import behind, crowd, minimal, sets_by_node

from cbnet.pipeline.schemas import POPULATION, PREDICATES
from cbnet.pipeline.tables.tree_counts import distinct_counts, minimal_counts
from cbnet.topology import Graph, shortest_path_tree

NODES = 24


@pytest.fixture(scope="module")
def rows():
    return crowd(NODES, 700)


def expected(rows, tree, count):
    """Return `count` of what is below each node, and of what is behind its parent, by looking."""
    below, above = [0] * NODES, [0] * NODES
    for node in range(NODES):
        parent = int(tree.parents[node])
        sets = sets_by_node(rows)
        inside = {*tree.descendants(node).tolist()}
        below[node] = count([tags for x in inside for tags in sets[x]])
        above[node] = count(behind(rows, tree, node, parent)) if parent >= 0 else 0
    return below, above


@pytest.mark.parametrize("partitions", [1, 7])
def test_minimal_counts_are_those_of_every_table(frame, rows, tree, partitions):
    counts = minimal_counts(frame(rows, POPULATION, partitions).where("size(tags) > 0"), tree, partitions)
    below, above = expected(rows, tree, lambda sets: len(minimal(sets)))
    assert counts.below.tolist() == below
    assert counts.above.tolist() == above


def test_minimal_counts_are_the_same_from_reduced_predicates(frame, rows, tree):
    predicates = [(node, [*tags]) for node, sets in sets_by_node(rows).items() for tags in minimal(sets)]
    counts = minimal_counts(frame(predicates, PREDICATES), tree, 2)
    below, above = expected(rows, tree, lambda sets: len(minimal(sets)))
    assert counts.below.tolist() == below
    assert counts.above.tolist() == above


@pytest.mark.parametrize("partitions", [1, 3, 7, None])
def test_distinct_counts_are_those_of_every_side(frame, rows, tree, partitions):
    counts = distinct_counts(frame(rows, POPULATION), tree, partitions)
    below, above = expected(rows, tree, lambda sets: len({*sets}))
    assert counts.below.tolist() == below
    assert counts.above.tolist() == above


def test_counts_of_an_empty_population_are_0(frame, tree):
    for count in (minimal_counts, distinct_counts):
        counts = count(frame([], POPULATION, 1), tree, 1)
        assert counts.below.tolist() == counts.above.tolist() == [0] * NODES


def test_nodes_that_are_not_reached_do_not_count(frame):
    tree = shortest_path_tree(Graph.from_edges([(0, 1), (2, 3)]), 0)
    counts = minimal_counts(frame([(1, [5]), (2, [6]), (3, [5, 6])], PREDICATES), tree, 1)
    assert counts.below.tolist() == [1, 1, 0, 0]
    assert counts.above.tolist() == [0, 0, 0, 0]
