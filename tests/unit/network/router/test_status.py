"""A router says how it is: what the test did to it, counted by hand."""

from support.memory_networks import Alone, Lab, sent

from cbnet.network.protocol.frames import (
    AnnounceAck,
    InterfaceStatus,
    Publish,
    SlowPolicy,
    Status,
    StatusRequest,
    StreamAck,
    Subscribe,
)
from cbnet.network.router.status import interfaces, router_status


def asked(new, link=9):
    new.client_link(link, "asker")
    (status,) = sent(new.say(link, StatusRequest(5)), Status)
    new.close(link)
    return status


def test_a_router_says_how_it_is():
    new = Alone("a", incarnation=100, weights={"b": 7})
    new.client_link(2, "c")
    new.leaf(1, "b", wants=["x > 9", "z = 1"])
    new.say(2, Subscribe(1, "x > 2", 0), Subscribe(2, "x > 3 or y = 1", 0), Publish(1, {"x": 3}, [], b"", False))
    new.wait(2.0)
    status = asked(new)
    assert (status.number, status.router, status.network, status.incarnation) == (5, "a", "cbnet", 100)
    assert status.scheme == "multitree:1"
    assert abs(status.uptime - new.now) < 1e-6
    assert status.neighbours == {"b": 7}
    assert (status.reachable, status.records) == (2, 2)
    assert (status.is_complete, status.versions, status.streams_in, status.streams_out) == (True, 1, 1, 1)
    assert status.filters == 5  # x > 2, x > 3, y = 1, x > 9, z = 1
    assert status.table_filters == 5  # 3 of the client and 2 of b
    assert (status.own_filters, status.subscriptions, status.clients) == (3, 2, 2)
    assert [(peer.name, peer.role) for peer in status.peers] == [("b", "router"), ("asker", "client"), ("c", "client")]
    assert status.counters["published"] == 1
    assert status.counters["delivered"] == 1


def test_a_client_that_may_not_watch_sees_nothing_of_others():
    new = Alone("a", weights={"b": 7})
    new.leaf(1, "b", wants=["x > 9"], offers=["#o"])
    new.client_link(2, "c")
    status = router_status(new.router, new.router._core, 1, is_whole=False)
    assert (status.neighbours, status.interfaces, status.peers, status.counters, status.silent) == ({}, [], [], {}, {})
    assert status.reachable == 2


def test_an_unlisted_link_is_not_shown():
    new = Alone("a")
    new.client_link(1, "c")
    new.client_link(2, "d")
    new.router.links.get(2).is_listed = False
    status = asked(new)
    assert (status.clients, [peer.name for peer in status.peers]) == (2, ["asker", "c"])


def test_an_interface_has_the_filters_of_its_side_and_those_announced_to_it():
    new = Alone("a")
    new.client_link(2, "c")
    new.leaf(1, "b", wants=["x > 9", "z = 1"], offers=["#o"])
    new.say(2, Subscribe(1, "x > 2", 0), Subscribe(2, "x > 3 or y = 1", 0))
    (interface,) = asked(new).interfaces
    assert interface == InterfaceStatus(
        neighbour="b", trees=[0], routers=1, is_up=True, is_heard=True, is_acknowledged=False,
        held=2, announced=2, covered=1, offers_held=1, offers_announced=0,
    )  # fmt: skip  # x > 2 covers x > 3
    (stream,) = new.router.streams.outgoing.values()
    new.say(1, AnnounceAck([StreamAck(stream.number, stream.sequence, 0)]))
    assert asked(new).interfaces[0].is_acknowledged


def test_a_neighbour_that_has_not_announced_its_side_is_not_heard():
    new = Alone("a")
    new.leaf(1, "b")
    status = asked(new)
    assert (status.is_complete, status.interfaces[0].is_heard) == (False, False)


def test_trees_with_the_same_sides_share_an_interface():
    line = Lab("a-b b-c", trees=3)
    ring = Lab("a-b b-c c-a", trees=3)  # rooted at each router: its two links
    assert [each.trees for each in interfaces(line.router("b"))] == [[0, 1, 2], [0, 1, 2]]
    assert sorted((each.neighbour, each.routers) for each in interfaces(ring.router("a"))) == [
        ("b", 1), ("b", 2), ("c", 1), ("c", 2),
    ]  # fmt: skip


def test_a_client_says_what_to_do_if_it_is_slow():
    new = Alone("a")
    new.client_link(1)
    assert new.router.links.get(1).drops_when_slow
    new.say(1, SlowPolicy("disconnect"))
    assert not new.router.links.get(1).drops_when_slow


def test_a_link_that_is_not_read_is_not_dead():
    new = Alone("a")
    new.client_link(1)
    new.client_link(2)
    for _ in range(60):
        new.wait(0.1)
        new.router.held(1, new.now)
    assert (new.router.links.get(1) is None, new.router.links.get(2) is None) == (False, True)


def test_several_frames_at_once_do_what_they_do_one_by_one():
    told = [Subscribe(1, "x = 1", 0), Publish(1, {"x": 1}, [], b"", True), Publish(2, {"#": 1}, [], b"", False)]
    one, other = Alone("a"), Alone("a")
    for new in (one, other):
        new.client_link(1)
    assert sent(one.say(1, *told)) == sent(other.router.received_all(1, told, other.now))
