"""Sizes of forwarding tables, counted by hand on the path 1 - 2 - 3 - 4 and on [2014 Fig. 2]."""

import numpy as np
import pyarrow as pa
from support.networks import ELEVEN, TWELVE, Named, graph

from cbnet.routing import Network
from cbnet.routing.multitree.multitree import MultiTree
from cbnet.routing.sizing.descriptor_fibs import DescriptorFibs
from cbnet.routing.sizing.descriptor_sets import DescriptorSets
from cbnet.routing.sizing.fib_size import Entries, FibSize, largest
from cbnet.routing.sizing.predicate_fibs import PredicateFibs
from cbnet.topology import shortest_path_trees

PATH = graph("1-2:1 2-3:1 3-4:1")


def test_the_rows_of_table_1_are_those_counted_by_hand():
    # at 1: #a #b, #a twice; at 3: #c; at 4: #c #d, #e
    owners, tags = [0, 0, 0, 2, 3, 3], ["ab", "a", "a", "c", "cd", "e"]
    descriptors = DescriptorSets(np.array(owners, dtype=np.int32), pa.array([[*each] for each in tags]))
    fibs = DescriptorFibs([*shortest_path_trees(PATH, [0])], descriptors)
    sizes = fibs.sizes(1, 0)
    assert sizes == {
        0: FibSize(interfaces=1, destinations=1, tags=4, descriptors=3, kept=1),
        2: FibSize(interfaces=1, destinations=2, tags=4, descriptors=3, kept=2),
    }
    assert sum(sizes.values(), FibSize()) == FibSize(2, 3, 8, 6, 3)
    assert largest(sizes) == 2
    assert fibs.sizes(3, 0) == {2: FibSize(1, 3, 5, 4, 2)}


def test_predicates_are_sized_by_filters_constraints_and_tags():
    network = Network(PATH, {0: "x > 1 and #a or #b", 2: "#b and y = 1"})
    fibs = PredicateFibs(MultiTree(network, [0], offers={2: "#b", 3: "true"}))
    # to 1: two filters. To 3: #b and y = 1 subscribed; #b and true offered, of which true is kept
    assert fibs.sizes(1, 0) == {0: FibSize(1, 1, 3, 2, 2), 2: FibSize(1, 2, 3, 3, 2)}
    assert fibs.entries(1) == Entries(4, 4, 4, 4)
    assert fibs.table(1, 0, [0, 2]).match({"x": 2, "#": ["a", "kind 1"]}) == [0]


def test_tables_without_constraints_use_the_tag_engine():
    owners, tags = np.array([0, 2, 3], dtype=np.int32), pa.array([["a"], ["b"], ["a", "c"]])
    by_descriptors = DescriptorFibs([*shortest_path_trees(PATH, [0])], DescriptorSets(owners, tags))
    by_tags = PredicateFibs(MultiTree(Network(PATH, {0: "#a", 2: "#b", 3: "#a and #c"}), [0]))
    for fibs in (by_descriptors, by_tags):
        table = fibs.table(1, 0, [0, 2])
        assert table._compiled.engine == "tags"
        assert table.match({"#": ["a"]}) == [0]
        assert table.match({"#": ["a", "c"]}) == [0, 2]
        assert fibs.table(1, 0, [2]).match({"#": ["a", "b", "c"]}) == [2]
    constrained = PredicateFibs(MultiTree(Network(PATH, {0: "x = 1", 2: "#b"}), [0]))
    assert constrained.table(1, 0, [0, 2])._compiled.engine == "pivot"
    assert constrained.table(1, 0, [2])._compiled.engine == "tags"


def test_the_interface_with_the_most_destinations_is_the_largest():
    assert largest({4: FibSize(1, 3), 2: FibSize(1, 5), 3: FibSize(1, 5)}) == 2


def test_figure_3_has_20_terms_per_tree_and_14_folded():
    figure = Named(ELEVEN)
    fibs = PredicateFibs(MultiTree(figure.network, [figure.id("b"), figure.id("i")]))
    assert fibs.entries(figure.id("b")) == Entries(per_tree=20, grouped=20, folded=14, grouped_and_folded=14)
    assert fibs.entries(figure.id("h")) == Entries(per_tree=20, grouped=10, folded=10, grouped_and_folded=10)


def test_every_descriptor_is_stored_once_per_other_router_and_tree():
    twelve = Named(TWELVE)
    for roots in ([0], [0, 5], [*range(8)]):
        total = PredicateFibs(MultiTree(twelve.network, roots)).total()
        assert total.per_tree == 12 * 11 * len(roots)
        assert total.grouped_and_folded <= min(total.grouped, total.folded) <= total.per_tree


def test_equal_trees_share_a_table():
    twelve = Named(TWELVE)
    assert PredicateFibs(MultiTree(twelve.network, [3] * 4)).total() == Entries(4 * 132, 132, 132, 132)
