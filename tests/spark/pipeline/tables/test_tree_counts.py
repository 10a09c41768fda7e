import numpy as np
import pyarrow as pa
import pytest
from support.crowds import behind, crowd, minimal, said_by
from support.descriptor_reference import reference_tops

from cbnet._kernels import set_trie
from cbnet.pipeline.schemas import POPULATION, PREDICATES
from cbnet.pipeline.tables.ancestry import parent_minima
from cbnet.pipeline.tables.containment import one_group
from cbnet.pipeline.tables.tag_sets import TagSets
from cbnet.pipeline.tables.tree_counts import distinct_counts, kept_counts, sums_below
from cbnet.topology import Graph, shortest_path_tree, topology

NODES = 24


@pytest.fixture(scope="module")
def tree():
    return shortest_path_tree(topology(f"powerlaw:{NODES}", seed=1), 3)


@pytest.fixture(scope="module")
def rows():
    return crowd(NODES, 700)


def expected(rows, tree, count):
    """Return `count` of what is below each node, and of what is behind its parent, by looking."""
    below, above = [0] * NODES, [0] * NODES
    for node in range(NODES):
        parent = int(tree.parents[node])
        said = said_by(rows)
        inside = {*tree.descendants(node).tolist()}
        below[node] = count([tags for x in inside for tags in said[x]])
        above[node] = count(behind(rows, tree, node, parent)) if parent >= 0 else 0
    return below, above


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_kept_counts_are_those_of_every_table(frame, rows, tree, partitions):
    found = kept_counts(frame(rows, POPULATION, partitions).where("size(tags) > 0"), tree, partitions)
    below, above = expected(rows, tree, lambda sets: len(minimal(sets)))
    assert found.below.tolist() == below
    assert found.above.tolist() == above


def test_kept_counts_are_the_same_from_reduced_predicates(frame, rows, tree):
    predicates = [(node, [*tags]) for node, sets in said_by(rows).items() for tags in minimal(sets)]
    found = kept_counts(frame(predicates, PREDICATES), tree, 2)
    below, above = expected(rows, tree, lambda sets: len(minimal(sets)))
    assert found.below.tolist() == below
    assert found.above.tolist() == above


@pytest.mark.parametrize("partitions", [None, 7])
def test_distinct_counts_are_those_of_every_side(frame, rows, tree, partitions):
    found = distinct_counts(frame(rows, POPULATION), tree, partitions)
    below, above = expected(rows, tree, lambda sets: len({*sets}))
    assert found.below.tolist() == below
    assert found.above.tolist() == above


def test_nothing_counts_nothing(frame, tree):
    for count in (kept_counts, distinct_counts):
        found = count(frame([], POPULATION, 1), tree, 1)
        assert found.below.tolist() == found.above.tolist() == [0] * NODES


def test_nodes_that_are_not_reached_do_not_count(frame):
    tree = shortest_path_tree(Graph.from_edges([(0, 1), (2, 3)]), 0)
    found = kept_counts(frame([(1, [5]), (2, [6]), (3, [5, 6])], PREDICATES), tree, 1)
    assert found.below.tolist() == [1, 1, 0, 0]
    assert found.above.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_tops_are_those_of_the_reference(tree, seed):
    owners = {}
    for node, sets in said_by(crowd(NODES, 60, seed)).items():
        for tags in sets:
            owners.setdefault(frozenset(tags), set()).add(node)
    sets = [*owners]
    column = TagSets.of(sets)
    places = TagSets.of([tree.positions[[*owners[tags]]].tolist() for tags in sets])
    tops = np.empty(len(places.tags), dtype=np.int32)
    firsts, lasts = np.empty((2, len(sets)), dtype=np.int32)
    group, minima = one_group(column), parent_minima(tree)
    own = (group, column.offsets, column.tags, places.offsets, places.tags)
    set_trie.find_tops(*own, *own, column.sizes - 1, minima, tops, firsts, lasts)
    for row, tags in enumerate(sets):
        expected = reference_tops(tree, owners, tags)
        found = dict(zip(places.to_lists()[row], TagSets(places.offsets, tops).to_lists()[row], strict=True))
        assert found == {
            int(tree.positions[node]): -1 if top is None else int(tree.positions[top]) for node, top in expected.items()
        }
        inside = [int(tree.positions[node]) for part, nodes in owners.items() if part < tags for node in nodes]
        assert (firsts[row], lasts[row]) == ((min(inside), max(inside)) if inside else (-1, -1))


def test_sums_are_over_all_that_is_below(tree):
    values = np.arange(NODES) ** 2
    sums = sums_below(tree, values[tree.preorder])
    assert sums.tolist() == [sum(values[tree.descendants(node)].tolist()) for node in range(NODES)]
    assert pa.types.is_int64(pa.array(sums).type)
