import random

import numpy as np
import pytest
from pyspark.sql import functions as F  # noqa: N812
from support.crowds import columns, crowd, minimal, sets_by_node
from support.seeds import seeds
from support.table_reference import entries, expected_folded, expected_tables

from cbnet.pipeline.schemas import FIB, NUMBERED, PREDICATES, ROUTER_TABLES
from cbnet.pipeline.tables import router_tables as module
from cbnet.pipeline.tables.router_tables import RouterBranches, StoredTables, descriptor_marks, numbered_descriptors
from cbnet.pipeline.tables.tree_counts import minimal_counts
from cbnet.routing.sizing.edge_counts import EdgeCounts
from cbnet.topology import shortest_path_trees, topology

NODES = 16
RANGES = 3


def stored(frame, rows, trees, folder, partitions=2):
    """Return the tables of all routers, as a run stores them."""
    predicates = frame(
        [(node, [*tags]) for node, sets in sets_by_node(rows).items() for tags in minimal(sets)], PREDICATES
    )
    numbered_descriptors(predicates, NODES, partitions).write.parquet(f"{folder}/descriptors")
    spark = predicates.sparkSession
    descriptors = spark.read.parquet(f"{folder}/descriptors")
    marks = descriptor_marks(predicates, descriptors, trees, RANGES, partitions)
    assert columns(marks.schema) == columns(ROUTER_TABLES)
    assert columns(descriptors.schema) == columns(NUMBERED)
    marks.write.partitionBy("tree", "range").parquet(f"{folder}/marks")
    return predicates, StoredTables(
        descriptors, spark.read.schema(ROUTER_TABLES).parquet(f"{folder}/marks"), trees, RANGES
    )


@pytest.mark.parametrize("seed", seeds(1))
def test_tables_of_every_router_are_exact_on_every_tree_and_folded(frame, tmp_path, seed):
    rng = random.Random(seed)
    graph = topology(f"{rng.choice(['powerlaw', 'aslike', 'random'])}:{NODES}", seed=seed)
    trees = [*shortest_path_trees(graph, rng.sample(range(NODES), 3))]
    rows = crowd(NODES, 300, seed)
    predicates, tables = stored(frame, rows, trees, tmp_path)
    routers = [*range(NODES)]
    for number, tree in enumerate(trees):
        actual = tables.of(routers, number)
        assert columns(actual.schema) == columns(FIB)
        assert entries(actual) == expected_tables(rows, tree, routers, number)
    assert_counts(tables, 1, minimal_counts(predicates, trees[1], 2))
    assert entries(tables.of(routers, partitions=2)) == expected_folded(rows, trees, routers)


def assert_counts(tables, number, expected):
    """Compare the sums of all marks of a tree with counts."""
    tree, minima = tables.trees[number], tables.descriptors.where("minimal").count()
    sums = np.zeros((2, NODES), dtype=np.int64)
    for position, below, above in tables.marks.where(f"tree = {number}").select("position", "below", "above").collect():
        sums[:, position] += below, above
    sums[1, 0] = minima - sums[1].sum()  # that of the root is not stored
    counts = EdgeCounts.from_marks(tree, sums)
    below_root = np.flatnonzero(tree.parents >= 0)
    assert counts.below[below_root].tolist() == expected.below[below_root].tolist()
    assert counts.above.tolist() == expected.above.tolist()


def test_one_router_is_read_from_the_files_of_its_ranges_only(frame, tmp_path):
    trees = [*shortest_path_trees(topology(f"powerlaw:{NODES}", seed=1), [3, 12])]
    rows = crowd(NODES, 200)
    _, tables = stored(frame, rows, trees, tmp_path)
    leaf = int(trees[0].preorder[-1])
    branches = RouterBranches.of(trees, [leaf], [0, 1])
    ranges = {(tree, int(each.positions[leaf]) * RANGES // NODES) for tree, each in enumerate(trees)}
    assert branches.ranges(RANGES) == sorted(tree * RANGES + number for tree, number in ranges)
    kept = {f"tree={tree}/range={number}" for tree, number in ranges}
    for folder in tmp_path.glob("marks/tree=*/range=*"):
        if str(folder.relative_to(tmp_path / "marks")) not in kept:
            for file in folder.glob("*.parquet"):
                file.write_bytes(b"not read")
    assert entries(tables.of([leaf], partitions=2)) == expected_folded(rows, trees, [leaf])


def test_a_network_without_descriptors_has_empty_tables(frame, tmp_path):
    trees = [*shortest_path_trees(topology("ring:16"), [0, 5])]
    _, tables = stored(frame, [], trees, tmp_path)
    assert tables.of([3]).collect() == []


def test_the_numbers_of_descriptors_do_not_depend_on_partitions_and_are_unique(frame, monkeypatch):
    predicates = frame([(node, [*tags]) for node, tags in enumerate([(1,), (2,), (1, 2), (1, 3), (2, 3)])], PREDICATES)

    def numbers(partitions):
        return {
            tuple(row["tags"]): row["descriptor"] for row in numbered_descriptors(predicates, 5, partitions).collect()
        }

    assert numbers(1) == numbers(3)
    hashed = module._number
    monkeypatch.setattr(module, "_number", lambda salt: F.lit(7).cast("long") if salt < 2 else hashed(salt))
    assert len({*numbers(2).values()}) == 5
