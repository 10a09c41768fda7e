import pytest
from support.crowds import behind, columns, crowd, minimal

from cbnet.pipeline.schemas import LOADS, POPULATION, TABLE1
from cbnet.pipeline.tables.fib import forwarding_tables
from cbnet.pipeline.tables.table_1 import collect_loads, node_loads, table1, table1_of_all
from cbnet.pipeline.tables.tree_counts import minimal_counts

NODES = 24


@pytest.fixture(scope="module")
def rows():
    return [(*row, number % 3 > 0) for number, (*row, _) in enumerate(crowd(NODES, 500))]


def expected(rows, tree, router):
    """Return the rows of one router, by looking; the one for all first."""
    neighbours = sorted({*tree.children(router).tolist(), int(tree.parents[router])} - {-1})
    single = []
    for neighbour in neighbours:
        sets = behind(rows, tree, router, neighbour)
        below = tree.parents[neighbour] == router
        nodes = int(tree.sizes[neighbour]) if below else NODES - int(tree.sizes[router])
        announced = len(behind([row for row in rows if row[4]], tree, router, neighbour))
        kept = len(minimal(sets))
        single.append((router, 0, neighbour, 1, nodes, sum(map(len, sets)), len(sets), announced, kept, 50 * kept))
    total = tuple(sum(row[column] for row in single) for column in range(3, 10))
    return [(router, 0, None, *total), *single]


def test_loads_count_the_descriptors_and_tags_of_nodes(frame, rows):
    loads = node_loads(frame(rows, POPULATION))
    assert columns(loads.schema) == columns(LOADS)
    totals = collect_loads(loads, NODES)
    sets = [row for row in rows if row[3]]
    assert totals.descriptors.tolist() == [sum(row[0] == node for row in sets) for node in range(NODES)]
    assert totals.tags.tolist() == [sum(len(row[3]) for row in sets if row[0] == node) for node in range(NODES)]
    assert totals.announced.tolist() == [sum(row[0] == node and row[4] for row in sets) for node in range(NODES)]
    offers = collect_loads(loads, NODES, "offer")
    assert offers.descriptors.tolist() == [
        sum(row[0] == node and row[2] == "offer" for row in sets) for node in range(NODES)
    ]


def test_table_has_counts_for_each_interface_and_the_total(frame, rows, tree):
    population = frame(rows, POPULATION)
    routers = [11, 3]
    fib = forwarding_tables(population, tree, routers, partitions=2)
    table = table1(fib, node_loads(population), tree, routers)
    assert columns(table.schema) == columns(TABLE1)
    assert [tuple(row) for row in table.collect()] == [
        row for router in routers for row in expected(rows, tree, router)
    ]


def test_the_tables_of_all_routers_are_counted_without_building_them(spark, frame, rows, tree):
    population = frame(rows, POPULATION)
    loads = collect_loads(node_loads(population), NODES)
    table = table1_of_all(spark, minimal_counts(population.where("size(tags) > 0"), tree, 2), loads, tree)
    assert columns(table.schema) == columns(TABLE1)
    actual = sorted((tuple(row) for row in table.collect()), key=lambda row: (row[0], -1 if row[2] is None else row[2]))
    assert actual == [row for router in range(NODES) for row in expected(rows, tree, router)]
