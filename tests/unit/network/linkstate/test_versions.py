"""Versions of the topology: their edges, ids, trees and roots."""

import pytest

from cbnet.network.link.context import RouterContext
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.versions import SessionEdge, Versions, reachable_edges, tree_roots, version_id
from cbnet.network.protocol.fields import MAX_WEIGHT
from cbnet.network.protocol.frames import LinkField, LinkRecord
from cbnet.topology import Graph

LINE = "a-b b-c c-d"


def records(links, *, session=1, incarnation=1, sequence=1):
    """Return the records of links such as `a-b:2`."""
    neighbours = {}
    for link in links.split():
        ends, _, length = link.partition(":")
        a, b = ends.split("-")
        for u, v in ((a, b), (b, a)):
            neighbours.setdefault(u, {})[v] = LinkField(int(length or 1), [session])
    return [LinkRecord(owner, incarnation, sequence, sequence, 0, own) for owner, own in neighbours.items()]


class Topology:
    """The versions of one router, whose records the test installs."""

    def __init__(self, links="", name="a", **settings):
        self.context = RouterContext(Settings(name, **settings), 1)
        self.context.clock.advance(0.0)
        self.database = Database(1000)
        self.versions = Versions(self.context, self.database)
        self.install(*records(links)) if links else None

    def install(self, *all_records):
        """Install records and adopt them; return whether the links have changed."""
        for record in all_records:
            self.database.install(record, 0.0)
        before = self.newest
        self.versions.adopt()
        return self.newest is not before

    @property
    def newest(self):
        return self.versions.newest


def edges(**links):
    return reachable_edges("a", lambda name: links.get(name, {}))


def test_an_edge_needs_both_ends_and_a_session_that_both_have():
    assert edges(a={"b": LinkField(1, [1])}) == {}
    assert edges(a={"b": LinkField(1, [1])}, b={"a": LinkField(1, [2])}) == {}
    assert edges(a={"b": LinkField(1, [1])}, b={"a": LinkField(1, [1])}) == {("a", "b"): SessionEdge(1, 1)}


def test_the_greatest_common_session_is_in_use_and_the_greater_length_counts():
    found = edges(a={"b": LinkField(3, [1, 5, 9])}, b={"a": LinkField(7, [1, 5, 6])})
    assert found == {("a", "b"): SessionEdge(5, 7)}


def test_only_what_can_be_reached_is_there():
    links = {record.owner: record.neighbours for record in records("a-b b-c x-y")}
    assert list(edges(**links)) == [("a", "b"), ("b", "c")]


def test_id_depends_on_the_records_and_not_on_their_order():
    assert version_id([("a", 1, 2), ("b", 3, 4)]) == version_id([("b", 3, 4), ("a", 1, 2)])
    ids = [
        version_id(each)
        for each in (
            [], [("a", 1, 2)], [("a", 2, 1)], [("a", 1, 3)], [("b", 1, 2)], [("a", 1, 2), ("b", 1, 2)], [("a1", 2, 2)],
        )
    ]  # fmt: skip
    assert len(set(ids)) == len(ids)
    assert all(1 <= each < 2**63 for each in ids)


def test_routers_with_the_same_records_have_the_same_version():
    one, other = Topology(LINE), Topology(name="d")
    other.install(*reversed(records(LINE)))
    assert one.newest.id == other.newest.id
    assert one.newest.edges == other.newest.edges


def test_renewal_is_no_new_version():
    topology = Topology(LINE)
    before, id = topology.newest, topology.newest.id
    renewed = [LinkRecord(r.owner, r.incarnation, 2, r.changes, 0, r.neighbours) for r in records(LINE)]
    assert not topology.install(*renewed)
    assert (topology.newest, topology.newest.id) == (before, id)


def test_change_that_leaves_the_links_as_they_are_has_another_id_and_the_same_trees():
    topology = Topology(LINE)
    trees, id = topology.newest.trees, topology.newest.id
    again = next(record for record in records(LINE, sequence=2) if record.owner == "d")
    assert not topology.install(again)
    assert topology.newest.id != id
    assert topology.newest.trees is trees


def test_records_of_routers_that_cannot_be_reached_do_not_count():
    topology = Topology(LINE)
    id = topology.newest.id
    assert not topology.install(*records("x-y"))
    assert topology.newest.id == id


def test_a_version_comes_back_only_with_its_records():
    topology = Topology("a-b")
    first = topology.newest.id
    topology.install(*records("a-b", session=2, sequence=2))
    second = topology.newest.id
    topology.install(*records("a-b", session=1, sequence=3))
    assert len({first, second, topology.newest.id}) == 3


@pytest.mark.parametrize(
    ("links", "trees", "roots", "expected"),
    [
        ("a-b b-c c-d", 1, (), ["b"]),  # b and c have two neighbours each; ties by id
        ("a-b b-c b-d d-e", 3, (), ["b", "d", "a"]),
        ("a-b", 5, (), ["a", "b"]),
        ("a-b b-c", 2, ("c",), ["c"]),
        ("a-b b-c", 1, ("x", "c"), ["b", "c"]),  # x is not there
        (f"a-b:{MAX_WEIGHT} b-c:{MAX_WEIGHT} a-c", 2, (), ["a", "c"]),  # b leaves
    ],
)
def test_roots_of_trees(links, trees, roots, expected):
    edges = [link.replace(":", "-").split("-") for link in links.split()]
    graph = Graph.from_edges((each[0], each[1], int(each[2]) if len(each) > 2 else 1) for each in edges)
    assert [str(graph.names[root]) for root in tree_roots(graph, trees, roots)] == expected
    assert [tree.root for tree in Topology(links, trees=trees, roots=roots).newest.trees] == expected


def test_router_alone_has_no_trees():
    topology = Topology()
    assert (topology.newest.trees, topology.newest.names) == ([], {"a"})
    assert topology.newest.complete is not None


def test_next_hops_follow_shortest_paths():
    newest = Topology("a-b b-c c-d a-d:5 x-y").newest
    assert [newest.next_hop(node) for node in "bcd"] == ["b", "b", "b"]
    assert newest.next_hop("x") is None


def test_packet_finds_a_tree_by_its_nodes_in_the_newest_version_that_has_it():
    topology = Topology("a-b b-c", name="b", roots=("b",))
    nodes = topology.newest.trees[0].links["a"].near  # b and c, seen from a
    assert topology.versions.tree_for("a", nodes, 0) is topology.newest.trees[0]
    assert topology.versions.tree_for("c", nodes, 0) is None
    first = topology.newest
    topology.install(*records("a-b b-c c-d", sequence=2))
    assert topology.versions.tree_for("a", nodes, 0) is first.trees[0]
    nodes = topology.newest.trees[0].links["a"].near
    assert topology.versions.tree_for("a", nodes, 0) is topology.newest.trees[0]


def test_packet_takes_the_tree_of_its_number_if_several_have_its_nodes():
    ring = Topology("a-b b-c c-d d-a", roots=("a", "b", "a1"))
    links = [tree.links["b"].near for tree in ring.newest.trees]
    assert links[0] == links[2]
    assert ring.newest.tree_for("b", links[0], 2) is ring.newest.trees[2]
    assert ring.newest.tree_for("b", links[0], 0) is ring.newest.trees[0]


def test_earlier_versions_are_few_and_the_last_complete_one_stays():
    topology = Topology("a-b")
    topology.newest.complete = 0.0
    complete = topology.newest
    for sequence in range(2, 12):
        topology.install(*records("a-b", session=sequence, sequence=sequence))
    assert len(topology.versions.kept) == 7
    assert topology.versions.kept[-1] is complete
    topology.versions.forget_earlier()
    assert len(topology.versions.kept) == 1
