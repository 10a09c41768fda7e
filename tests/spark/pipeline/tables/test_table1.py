import pytest
from support.crowds import behind, columns, crowd, minimal

from cbnet.pipeline.schemas import LOADS, POPULATION, TABLE1
from cbnet.pipeline.tables.fib import forwarding_tables
from cbnet.pipeline.tables.table1 import collect_loads, node_loads, table1, table1_of_all
from cbnet.pipeline.tables.tree_counts import minimal_counts
from cbnet.topology import shortest_path_tree, topology

NODES = 24


@pytest.fixture(scope="module")
def tree():
    return shortest_path_tree(topology(f"powerlaw:{NODES}", seed=1), 3)


@pytest.fixture(scope="module")
def rows():
    return crowd(NODES, 500)


def expected(rows, tree, router):
    """Return the rows of one router, by looking; the one for all first."""
    neighbours = sorted({*tree.children(router).tolist(), int(tree.parents[router])} - {-1})
    single = []
    for neighbour in neighbours:
        said = behind(rows, tree, router, neighbour)
        below = tree.parents[neighbour] == router
        nodes = int(tree.sizes[neighbour]) if below else NODES - int(tree.sizes[router])
        kept = len(minimal(said))
        single.append((router, 0, neighbour, 1, nodes, sum(map(len, said)), len(said), kept, 50 * kept))
    total = tuple(sum(row[column] for row in single) for column in range(3, 9))
    return [(router, 0, None, *total), *single]


def test_loads_are_what_nodes_say(frame, rows):
    loads = node_loads(frame(rows, POPULATION))
    assert columns(loads.schema) == columns(LOADS)
    found = collect_loads(loads, NODES)
    said = [row for row in rows if row[3]]
    assert found.descriptors.tolist() == [sum(row[0] == node for row in said) for node in range(NODES)]
    assert found.tags.tolist() == [sum(len(row[3]) for row in said if row[0] == node) for node in range(NODES)]
    offers = collect_loads(loads, NODES, "offer")
    assert offers.descriptors.tolist() == [
        sum(row[0] == node and row[2] == "offer" for row in said) for node in range(NODES)
    ]


def test_the_table_counts_what_is_behind_each_interface_and_all(frame, rows, tree):
    population = frame(rows, POPULATION)
    routers = [11, 3]
    fib = forwarding_tables(population, tree, routers, partitions=2)
    found = table1(fib, node_loads(population), tree, routers)
    assert columns(found.schema) == columns(TABLE1)
    assert [tuple(row) for row in found.collect()] == [
        row for router in routers for row in expected(rows, tree, router)
    ]


def test_the_tables_of_all_routers_are_counted_without_building_them(spark, frame, rows, tree):
    population = frame(rows, POPULATION)
    loads = collect_loads(node_loads(population), NODES)
    found = table1_of_all(spark, minimal_counts(population.where("size(tags) > 0"), tree, 2), loads, tree)
    assert columns(found.schema) == columns(TABLE1)
    told = sorted((tuple(row) for row in found.collect()), key=lambda row: (row[0], -1 if row[2] is None else row[2]))
    assert told == [row for router in range(NODES) for row in expected(rows, tree, router)]
