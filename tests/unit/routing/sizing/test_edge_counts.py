import pytest
from support.crowds import crowd, sets_by_node
from support.descriptor_reference import reference_tops

from cbnet.matching.storage.tag_sets import TagSets
from cbnet.routing.sizing.edge_counts import SubsetOwners
from cbnet.topology import shortest_path_tree, topology
from cbnet.topology.trees.common_ancestors import CommonAncestors

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
