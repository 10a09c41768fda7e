"""A router says how it is: what the test did to it, counted by hand."""

from support.memory_networks import Alone, sent

from cbnet.network.protocol.frames import (
    FilterChange,
    LinkRecord,
    Publish,
    SlowPolicy,
    Status,
    StatusRequest,
    Subscribe,
)


def asked(new, link=9):
    new.client_link(link, "asker")
    (status,) = sent(new.say(link, StatusRequest(5)), Status)
    new.close(link)
    return status


def test_a_router_says_how_it_is():
    new = Alone("a", life=100, weights={"b": 7})
    new.router_link(1, "b")
    new.client_link(2, "c")
    new.say(
        1,
        LinkRecord("b", 1, 1, 0, {"a": 7, "z": 1}),
        FilterChange(owner="b", life=1, sequence=1, age=0, added=[b"\x90"], removed=[], wants_ack=False),
    )
    new.say(2, Subscribe(1, "x > 2", 0), Subscribe(2, "x > 3 or y = 1", 0), Publish(1, {"x": 3}, [], b"", False))
    new.wait(2.0)
    status = asked(new)
    assert (status.number, status.router, status.network, status.scheme, status.life) == (5, "a", "cbnet", "psf", 100)
    assert abs(status.uptime - 2.0) < 1e-6
    assert status.neighbours == {"b": 7}
    assert status.reachable == 2  # a and b: z does not tell of its link to b
    assert status.records == 4  # links and predicates of a and b
    assert status.filters == 3  # of b the empty one; of a those two that no other covers
    assert (status.announced, status.subscriptions, status.clients) == (2, 2, 2)
    assert [(peer.name, peer.role) for peer in status.peers] == [("b", "router"), ("asker", "client"), ("c", "client")]
    assert status.counters["published"] == 1
    assert status.counters["delivered"] == 1


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
