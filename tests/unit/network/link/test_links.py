"""Who is at the other end of a link, and whether it is still there."""

import pytest
from support.memory_networks import Alone, hello, sent, shut

from cbnet.network.link import links
from cbnet.network.protocol.frames import Close, Hello, LinkRecord, Ping, Pong, Publish, RecordSummary, Subscribe


def test_router_sends_hello_as_soon_as_a_link_opens():
    alone = Alone("a", life=7, network="n", scheme="multitree", trees=3)
    (greeting,) = sent(alone.router.opened(1, 0.0))
    assert greeting == Hello(low=2, high=2, role="router", name="a", network="n", life=7, scheme="multitree:3")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"low": 3, "high": 4}, "no common protocol version: the peer supports 3 to 4, this router 2 to 2"),
        ({"low": 1, "high": 1}, "no common protocol version: the peer supports 1 to 1, this router 2 to 2"),
        ({"network": "other"}, "this is network 'cbnet', not 'other'"),
        ({"scheme": "drp"}, "this network uses the routing scheme psf, not drp"),
        ({"name": "a"}, "the name 'a' belongs to this router itself"),
    ],
)
def test_a_greeting_that_does_not_fit_closes_the_link_with_the_reason(changes, reason):
    alone = Alone("a")
    assert shut(alone.open(1, hello("router", **{"name": "b", **changes}))) == {1: reason}
    assert alone.router.links.neighbours() == {}


def test_versions_that_overlap_are_enough():
    assert shut(Alone("a").router_link(1, "b", low=0, high=9)) == {}


def test_a_client_may_have_the_name_of_the_router_and_any_scheme():
    assert shut(Alone("a").open(1, hello("client", "a", scheme=""))) == {}


def test_a_second_hello_is_refused():
    alone = Alone()
    alone.router_link(1, "b")
    assert shut(alone.say(1, hello("router", "b"))) == {1: "a second Hello"}


def test_nothing_may_come_before_the_hello():
    alone = Alone()
    alone.router.opened(1, 0.0)
    assert shut(alone.say(1, Ping(1))) == {1: "Ping before Hello"}


@pytest.mark.parametrize("frame", [LinkRecord("b", 1, 1, 0, {}), RecordSummary([])])
def test_a_client_may_not_speak_as_a_router(frame):
    alone = Alone()
    alone.client_link(1)
    assert shut(alone.say(1, frame)) == {1: f"a client must not send {type(frame).__name__}"}


@pytest.mark.parametrize("frame", [Subscribe(1, "x = 1", 0), Publish(1, {}, [], b"", False)])
def test_a_router_may_not_speak_as_a_client(frame):
    alone = Alone()
    alone.router_link(1, "b")
    assert shut(alone.say(1, frame)) == {1: f"a router must not send {type(frame).__name__}"}


def test_a_ping_is_answered_at_once():
    alone = Alone()
    alone.client_link(1)
    assert sent(alone.say(1, Ping(42))) == [Pong(42)]


def test_silent_peer_is_pinged_every_second_and_then_closed():
    alone = Alone()
    alone.router_link(1, "b")
    alone.client_link(2)
    done = alone.wait(3.4)
    assert len(sent(done, Ping, link=1)) == len(sent(done, Ping, link=2)) == 3
    assert shut(done) == {}
    assert shut(alone.wait(0.2)) == {1: "nothing received for 3.5 s", 2: "nothing received for 3.5 s"}
    assert len(alone.router.links) == 0


def test_link_of_an_answering_peer_stays_open():
    alone = Alone()
    alone.router_link(1, "b")
    for _ in range(10):
        alone.wait(1.0)
        alone.say(1, Pong(1))
    assert alone.router.links.neighbours() == {"b": 1}


def test_link_without_hello_is_closed():
    alone = Alone()
    alone.router.opened(1, 0.0)
    assert shut(alone.wait(3.6)) == {1: "no Hello received for 3.5 s"}


def test_a_jump_of_the_clock_closes_no_link():
    alone = Alone()
    alone.router_link(1, "b")
    for jump in (10_000, -20_000, 10_000):
        alone.now += jump
        assert shut(alone.wait(0.1)) == {}


def test_close_frame_closes_the_link():
    alone = Alone()
    alone.router_link(1, "b")
    assert list(shut(alone.say(1, Close("good bye")))) == [1]
    assert alone.router.links.neighbours() == {}


def test_of_several_links_to_a_neighbour_the_newest_is_used_and_the_neighbour_stays_while_one_is_left():
    alone = Alone()
    alone.router_link(1, "b")
    alone.router_link(2, "b")
    assert alone.router.links.to("b") == 2
    alone.close(2)
    assert alone.router.links.to("b") == 1
    alone.close(1)
    assert alone.router.links.to("b") is None


def test_a_fifth_link_closes_the_oldest():
    alone = Alone()
    done = [action for link in range(1, 6) for action in alone.router_link(link, "b")]
    assert shut(done) == {1: "replaced by newer links"}


def test_there_may_be_so_many_neighbours_and_no_more(monkeypatch):
    monkeypatch.setattr(links, "MAX_NEIGHBOURS", 2)
    alone = Alone()
    for link, name in ((1, "b"), (2, "c"), (3, "c")):
        assert shut(alone.router_link(link, name)) == {}
    assert shut(alone.router_link(4, "d"))[4].startswith("this router has 2 neighbours")


def test_frames_of_a_closed_link_are_ignored():
    alone = Alone()
    alone.router_link(1, "b")
    alone.close(1)
    assert alone.say(1, Ping(1)) == []
    assert alone.close(1) == []
