import pytest
from support.crowds import behind, columns, crowd, minimal, sets_by_node
from support.table_reference import entries, expected_folded, expected_tables, neighbours

from cbnet.pipeline.schemas import FIB, POPULATION, PREDICATES
from cbnet.pipeline.tables import fib
from cbnet.pipeline.tables.fib import folded_tables, forwarding_tables, node_predicates
from cbnet.pipeline.tables.minimal_descriptors import group_counts
from cbnet.pipeline.tables.router_interfaces import Targets
from cbnet.topology import shortest_path_trees, topology

NODES = 24
ROUTERS = [3, 0, 11]


@pytest.fixture(scope="module")
def trees():
    return [*shortest_path_trees(topology(f"powerlaw:{NODES}", seed=1), [3, 12, 20])]


@pytest.fixture(scope="module")
def rows():
    return crowd(NODES, 900)


@pytest.mark.parametrize("partitions", [1, 7])
def test_predicates_of_nodes_are_minimal(frame, rows, partitions):
    actual = node_predicates(frame(rows, POPULATION, partitions), NODES, partitions)
    assert columns(actual.schema) == columns(PREDICATES)
    kept = [(row.node, tuple(row.tags)) for row in actual.collect()]
    expected = {(node, tags) for node, sets in sets_by_node(rows).items() for tags in minimal(sets)}
    assert len(kept) == len(expected)
    assert {*kept} == expected


@pytest.mark.parametrize("partitions", [1, 7])
def test_tables_hold_the_minimal_descriptors_of_all_nodes_behind(frame, rows, trees, partitions):
    actual = forwarding_tables(frame(rows, POPULATION, partitions), trees[0], ROUTERS, partitions=partitions)
    assert columns(actual.schema) == columns(FIB)
    assert entries(actual) == expected_tables(rows, trees[0], ROUTERS)


def test_tables_are_the_same_from_reduced_predicates(frame, rows, trees):
    predicates = [(node, [*tags]) for node, sets in sets_by_node(rows).items() for tags in minimal(sets)]
    actual = forwarding_tables(frame(predicates, PREDICATES), trees[1], ROUTERS, partitions=2)
    assert entries(actual) == expected_tables(rows, trees[1], ROUTERS)


@pytest.mark.parametrize("partitions", [3, 7])
def test_folded_tables_have_a_tree_only_where_it_is_needed(frame, rows, trees, partitions):
    actual = folded_tables(frame(rows, POPULATION, partitions), trees, ROUTERS, partitions=partitions)
    assert columns(actual.schema) == columns(FIB)
    expected = expected_folded(rows, trees, ROUTERS)
    assert {None, 0, 1, 2} == {entry[0] for entry in expected}
    assert entries(actual) == expected


def test_more_trees_than_a_mask_has_bits_are_folded_in_batches(frame, rows, trees, monkeypatch):
    """With two trees to a mask, three trees are two batches."""
    monkeypatch.setattr(fib, "MASK_TREES", 2)
    actual = folded_tables(frame(rows, POPULATION, 3), trees, ROUTERS, partitions=3)
    assert entries(actual) == expected_folded(rows, trees, ROUTERS)


def test_sixty_six_trees_are_folded(frame, rows, trees):
    many = trees * 22
    folded = [row.asDict() for row in folded_tables(frame(rows, POPULATION, 3), many, [3], partitions=3).collect()]
    expected = expected_folded(rows, trees, [3])
    everywhere = {(row["interface"], tuple(row["tags"])) for row in folded if row["tree"] is None}
    assert everywhere == {(interface, tags) for tree, _, interface, tags in expected if tree is None}
    # A descriptor of some trees has an entry for each of them, 22 times as many as with three trees.
    assert sum(row["tree"] is not None for row in folded) == 22 * sum(entry[0] is not None for entry in expected)
    assert max(row["tree"] or 0 for row in folded) > 63


def test_a_table_folded_over_one_tree_is_that_of_the_tree(frame, rows, trees):
    actual = folded_tables(frame(rows, POPULATION), trees[:1], [3], partitions=2)
    assert entries(actual) == {(None, *entry[1:]) for entry in expected_tables(rows, trees[0], [3])}


def test_one_tag_in_half_of_all_sets_changes_nothing(frame, trees):
    # none of these has a subset, so every query for tag 0 is sent and finds nothing
    rows = [(node, "web", "offer", [0, 40 + 30 * node + number], True) for node in range(NODES) for number in range(30)]
    rows += [
        (node, "web", "offer", [40 + 30 * node + number, 9000], True) for node in range(NODES) for number in range(30)
    ]
    actual = entries(forwarding_tables(frame(rows, POPULATION), trees[0], [3], partitions=2))
    assert actual == {
        (0, 3, neighbour, tags)
        for neighbour in neighbours(trees[0], 3)
        for tags in behind(rows, trees[0], 3, neighbour)
    }
    covering = [*rows, *((node, "web", "offer", [0], True) for node in range(NODES))]
    actual = entries(forwarding_tables(frame(covering, POPULATION), trees[0], [3], partitions=2))
    assert actual == expected_tables(covering, trees[0], [3])
    assert {len(entry[3]) for entry in actual if 0 in entry[3]} == {1}


@pytest.mark.parametrize("partitions", [1, 7])
def test_one_node_with_half_of_all_descriptors_is_spread_and_changes_nothing(frame, trees, partitions):
    rows = [(5 if number % 2 else node, *rest) for number, (node, *rest) in enumerate(crowd(NODES, 900))]
    population = frame(rows, POPULATION, partitions)
    counts = group_counts(population, Targets.of_nodes(NODES))
    assert counts[5] > counts.sum() / 2
    actual = {(row.node, tuple(row.tags)) for row in node_predicates(population, NODES, partitions).collect()}
    assert actual == {(node, tags) for node, sets in sets_by_node(rows).items() for tags in minimal(sets)}
    tables = entries(forwarding_tables(population, trees[0], ROUTERS, partitions=partitions))
    assert tables == expected_tables(rows, trees[0], ROUTERS)


def test_empty_population_has_empty_tables(frame, trees):
    nothing = frame([], POPULATION, 1)
    assert node_predicates(nothing, NODES, 1).collect() == []
    assert folded_tables(nothing, trees, ROUTERS, partitions=2).collect() == []
