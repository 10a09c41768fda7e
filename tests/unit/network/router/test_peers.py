"""Which frames a router accepts from its peers, and when it closes a link."""

import pytest
from support.memory_networks import Alone, hello, sent, shut

from cbnet.network.protocol.frames import Announce, Close, LinkRecord, Ping, Pong, Publish, RecordSummary, Subscribe


def test_a_client_may_have_the_name_of_the_router_and_any_scheme():
    assert shut(Alone("a").open(1, hello("client", "a", scheme=""))) == {}


def test_nothing_may_come_before_the_hello():
    alone = Alone()
    alone.router.opened(1, 0.0)
    assert shut(alone.say(1, Ping(1))) == {1: "Ping before Hello"}


@pytest.mark.parametrize("frame", [LinkRecord("b", 1, 1, 1, 0, {}), RecordSummary("links", [])])
def test_a_client_may_not_speak_as_a_router(frame):
    alone = Alone()
    alone.client_link(1)
    assert shut(alone.say(1, frame)) == {1: f"a client must not send {type(frame).__name__}"}


@pytest.mark.parametrize("frame", [Subscribe(1, "x = 1", 0), Publish(1, {}, [], b"", False)])
def test_a_router_may_not_speak_as_a_client(frame):
    alone = Alone()
    alone.router_link(1, "b")
    assert shut(alone.say(1, frame)) == {1: f"a router must not send {type(frame).__name__}"}


@pytest.mark.parametrize("role", ["router", "client"])
def test_frames_after_a_close_are_ignored(role):
    alone = Alone()
    alone.open(1, hello(role, "b"))
    frame = Announce([], [], [], []) if role == "router" else Publish(1, {}, [], b"", False)
    assert shut(alone.router.received_all(1, [Close("end"), frame], alone.now)) == {1: "closed by the peer: end"}
    assert alone.router.counters["published"] == 0


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
    assert alone.router.counters["links_dead"] == 1  # of the neighbour


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


def test_frames_of_a_closed_link_are_ignored():
    alone = Alone()
    alone.router_link(1, "b")
    alone.close(1)
    assert alone.say(1, Ping(1)) == []
    assert alone.close(1) == []
