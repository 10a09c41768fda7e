"""How a router sees the network, and what its scheme makes of it."""

import pytest
from support.memory_networks import content, database
from support.networks import TWELVE

from cbnet import parse_filter
from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.database import Database
from cbnet.network.linkstate.records import Version
from cbnet.network.linkstate.view import ViewHistory, reachable_edges
from cbnet.network.protocol.fields import MAX_WEIGHT
from cbnet.network.protocol.filter_codec import filter_to_bytes
from cbnet.routing import SCHEMES


def test_a_link_needs_both_ends_and_has_the_greater_length():
    neighbours = {"a": {"b": 1, "c": 1, "x": 1}, "b": {"a": 3}, "c": {}, "d": {"e": 7}, "e": {"d": 1}}
    assert reachable_edges("a", lambda name: neighbours.get(name, {})) == {("a", "b"): 3}
    assert reachable_edges("d", lambda name: neighbours.get(name, {})) == {("d", "e"): 7}


def test_self_loop_is_no_link():
    assert reachable_edges("a", lambda _: {"a": 1}) == {}


def test_a_router_alone_sees_itself_and_sends_nothing():
    for scheme in SCHEMES:
        view = ViewHistory(Settings("a", scheme=scheme), Database(100)).current()
        assert view.names == ["a"]
        header = view.router.init(content(x=1))
        assert list(view.router.fwd(header, content(x=1))) == []


def test_view_changes_only_with_the_reachable_topology():
    db = database("a-b b-c x-y")
    views = ViewHistory(Settings("a"), db)
    first = views.current()
    db.install_links("x", Version(2, 1), 0, {}, 0)
    assert views.current() is first
    db.install_links("b", Version(2, 1), 0, {"a": 1}, 0)
    assert views.current() is not first
    assert views.current().names == ["a", "b"]


def test_change_of_a_predicate_keeps_the_view_and_changes_the_next_hops():
    db = database("a-b b-c a-d")
    views = ViewHistory(Settings("a"), db)
    view = views.current()
    message = content(x=1)
    header = view.router.init(message)
    assert list(view.router.fwd(header, message)) == []
    filter = parse_filter("x = 1")
    db.install_whole("c", Version(1, 1), 0, {filter_to_bytes(filter): filter}, 0)
    assert views.current() is view
    assert [view.names[w] for w in view.router.fwd(header, message)] == ["b"]


def test_next_hop_is_on_the_shortest_path():
    view = ViewHistory(Settings("a"), database("a-b:1 b-c:1 a-c:5 a-d:1")).current()
    assert [view.next_hop(name) for name in "bcd"] == ["b", "b", "d"]
    assert view.next_hop("a") is None
    assert view.next_hop("nobody") is None


def test_numbers_as_names_keep_their_order():
    view = ViewHistory(Settings("10"), database("9-10 10-r1")).current()
    assert view.names == ["9", "10", "r1"]
    assert view.next_hop("9") == "9"


# The paper's twelve nodes: a message from 1 for 2, 3, 4 and 8 goes by 6, which sends it to 2 and to 7 [2006 §3.4].
@pytest.mark.parametrize("scheme", ["psf", "ips", "drp"])
def test_path_over_the_papers_twelve_nodes(scheme):
    wants = {name: f'#"{name}"' for name in map(str, range(1, 13))}
    db = database(TWELVE, wants)
    message = content(tags=["2", "3", "4", "8"])
    first = ViewHistory(Settings("1", scheme=scheme), db).current()
    header = first.router.init(message)
    (w,) = first.router.fwd(header, message)
    assert first.names[w] == "6"
    travelling = first.header_codec.write(first.router.hdr(header, w))
    second = ViewHistory(Settings("6", scheme=scheme), db).current()
    arrived = second.header_codec.read(travelling)
    assert [second.names[w] for w in second.router.fwd(arrived, message)] == ["2", "7"]
    if scheme == "drp":
        assert travelling == ["2", "3", "4", "8"]
        assert second.header_codec.write(second.router.hdr(arrived, second.ids["7"])) == ["4", "8"]


def test_the_trees_of_multitree_are_rooted_at_the_nodes_with_the_most_neighbours():
    db = database("a-b a-c a-d b-c d-e", {"e": "x = 1"})
    view = ViewHistory(Settings("c", scheme="multitree", trees=2), db).current()
    message = content(x=1)
    seen = set()
    for _ in range(50):  # each message is committed to a random tree
        header = view.router.init(message)
        root, last_hop = view.header_codec.write(header)
        seen.add(root)
        assert last_hop == "c"
        assert view.header_codec.read([root, last_hop]) == header
    assert seen == {"a", "b"}  # degrees: a 3; b, c and d 2


@pytest.mark.parametrize(("roots", "seen"), [(("e", "b"), {"e", "b"}), (("b", "away"), {"b", "a"})])
def test_unreachable_root_is_replaced_by_the_node_with_most_neighbours(roots, seen):
    db = database("a-b a-c a-d b-c d-e", {"e": "x = 1"})
    view = ViewHistory(Settings("c", scheme="multitree", roots=roots), db).current()
    message = content(x=1)
    assert {view.header_codec.write(view.router.init(message))[0] for _ in range(50)} == seen


def test_the_views_of_before_are_kept_for_as_long_as_others_may_have_them():
    db = database("a-b b-c c-a")
    views = ViewHistory(Settings("a", overlap=2.0), db)
    first = views.current()
    assert views.earlier(0.0) == []
    db.install_links("b", Version(2, 1), 10, {"a": 1}, 10.0)
    second = views.current()
    assert views.earlier(10.0) == views.earlier(11.9) == [first]
    db.install_links("b", Version(3, 1), 11, {"a": 1, "c": 1}, 11.0)
    third = views.current()
    assert views.earlier(11.5) == [first, second]
    db.install_links("b", Version(4, 1), 11.5, {"c": 1}, 11.5)
    assert third is not views.current()
    assert views.earlier(11.6) == [first, third]  # of many the oldest and the newest
    assert views.earlier(12.0) == [third]
    assert views.earlier(13.5) == []
    assert views.changes == 4


def test_no_tree_is_rooted_at_a_router_that_leaves():
    long = MAX_WEIGHT
    db = database(f"a-b:{long} a-c:{long} a-d:{long} b-c d-e b-d")  # a has the most neighbours, after it b with d
    view = ViewHistory(Settings("c", scheme="multitree", trees=2), db).current()
    roots = {view.header_codec.write(view.router.init(content(x=1)))[0] for _ in range(50)}
    assert roots == {"b", "d"}
