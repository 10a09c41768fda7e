import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_equal
from support.crowds import behind, crowd, minimal, sets_by_node
from support.descriptor_reference import reference_tops

from cbnet.matching.minimal_sets import TagSets
from cbnet.routing.sizing.descriptor_sets import DescriptorSets
from cbnet.routing.sizing.edge_counts import SetMarks, SubsetOwners, edge_marks
from cbnet.topology import shortest_path_tree, topology
from cbnet.topology.common_ancestors import CommonAncestors

NODES = 24


@pytest.mark.parametrize("seed", range(5))
def test_subset_owners_are_those_of_the_reference(seed):
    tree = shortest_path_tree(topology(f"powerlaw:{NODES}", seed=1), 3)
    owners = {}
    for node, sets in sets_by_node(crowd(NODES, 60, seed)).items():
        for tags in sets:
            owners.setdefault(frozenset(tags), set()).add(node)
    sets = [*owners]
    column = TagSets.of(sets)
    positions = TagSets.of([tree.positions[[*owners[tags]]].tolist() for tags in sets])
    inner = SubsetOwners.find(column, positions, column, positions, CommonAncestors.of(tree), column.sizes - 1)
    tops = TagSets(positions.offsets, inner.tops).to_lists()
    for row, tags in enumerate(sets):
        expected = reference_tops(tree, owners, tags)
        actual = dict(zip(positions.to_lists()[row], tops[row], strict=True))
        assert actual == {
            int(tree.positions[node]): -1 if top is None else int(tree.positions[top]) for node, top in expected.items()
        }
        inside = [int(tree.positions[node]) for part, nodes in owners.items() if part < tags for node in nodes]
        assert (inner.firsts[row], inner.lasts[row]) == ((min(inside), max(inside)) if inside else (-1, -1))


@pytest.mark.parametrize("seed", range(8))
def test_marks_of_a_set_add_up_to_the_edges_that_keep_it(seed):
    graph = topology(f"powerlaw:{NODES}", seed=seed)
    tree = shortest_path_tree(graph, seed)
    rows = crowd(NODES, 80, seed)
    descriptors = DescriptorSets(
        np.array([node for node, _, _, tags, _ in rows if tags], dtype=np.int32),
        pa.array([tags for _, _, _, tags, _ in rows if tags], pa.list_(pa.int32())),
    )
    sets, owners, ancestors = descriptors.distinct, descriptors.owner_positions(tree), CommonAncestors.of(tree)
    inner = SubsetOwners.find(sets, owners, sets, owners, ancestors, sets.sizes - 1)
    marks = SetMarks.of(owners, inner, ancestors)
    assert len({*zip(marks.sets.tolist(), marks.positions.tolist(), strict=True)}) == len(marks.sets)
    assert (marks.below.astype(bool) | marks.above.astype(bool)).all()
    names = [tuple(rows[row][3]) for row in descriptors.examples]
    overall = minimal(tags for sets in sets_by_node(rows).values() for tags in sets)
    for node in range(NODES):
        inside = tree.positions[node] <= marks.positions
        inside &= marks.positions < tree.positions[node] + tree.sizes[node]
        below, above = ({} for _ in range(2))
        for number, *values in zip(*(column[inside].tolist() for column in marks[0:1] + marks[2:]), strict=True):
            for sums, value in zip((below, above), values, strict=True):
                sums[names[number]] = sums.get(names[number], 0) + value
        parent = int(tree.parents[node])
        kept = minimal(_sets(rows, tree.descendants(node).tolist()))
        assert {tags: count for tags, count in below.items() if count} == dict.fromkeys(kept, 1)
        if parent >= 0:
            kept = minimal(behind(rows, tree, node, parent))
            outside = {tags: (tags in overall) - above.get(tags, 0) for tags in names}
            assert {tags: count for tags, count in outside.items() if count} == dict.fromkeys(kept, 1)
    assert_equal(edge_marks(owners, inner, ancestors), _sums(marks))


def _sets(rows, nodes):
    return [tags for node in nodes for tags in sets_by_node(rows)[node]]


def _sums(marks):
    sums = np.zeros((2, NODES), dtype=np.int64)
    np.add.at(sums[0], marks.positions, marks.below)
    np.add.at(sums[1], marks.positions, marks.above)
    return sums
