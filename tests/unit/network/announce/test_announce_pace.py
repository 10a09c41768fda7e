"""The frames of a long announcement are sent one after the other."""

import pytest
from support.memory_networks import Alone, sent

from cbnet.network.announce import announce_pace, announce_writer
from cbnet.network.protocol.frames import Announce, Ping, Pong, Subscribe, Unsubscribe

PARTS = 5
LONG = " or ".join(f"x{n} = {n}" for n in range(PARTS))


@pytest.fixture
def router(monkeypatch):
    """A router with the neighbour b at 1 and a client at 9; each frame announces one filter."""
    monkeypatch.setattr(announce_writer, "MAX_FRAME_FILTERS", 1)
    monkeypatch.setattr(announce_pace, "_WINDOW", 1)
    alone = Alone("a")
    alone.leaf(1, "b")
    alone.client_link(9)
    return alone


def answer(router, actions):
    """Answer the last Ping to the neighbour; return what the router does about it."""
    return router.say(1, Pong(sent(actions, Ping, 1)[-1].number))


def sizes(actions):
    """Return the numbers of filters that are announced, by frame."""
    return [len(frame.filters) for frame in sent(actions, Announce, 1)]


def test_next_frame_is_sent_when_the_neighbour_has_handled_the_one_before(router):
    done = router.say(9, Subscribe(1, LONG, 0))
    last = []
    for _ in range(PARTS):
        assert sizes(done) == [1]
        last += [change.is_last for frame in sent(done, Announce, 1) for change in frame.changes]
        if not last[-1]:
            done = answer(router, done)
    assert last == [False] * (PARTS - 1) + [True]
    assert not sent(done, Ping, 1)


def test_neighbour_may_have_some_frames_that_it_has_not_handled(router, monkeypatch):
    monkeypatch.setattr(announce_pace, "_WINDOW", 2)
    done = router.say(9, Subscribe(1, LONG, 0))
    assert sizes(done) == [1, 1]
    first, second = (ping.number for ping in sent(done, Ping, 1))
    assert sizes(router.say(1, Pong(first))) == [1]
    assert sizes(router.say(1, Pong(first))) == []
    assert sizes(router.say(1, Pong(second + 1))) == [1, 1]


def test_answer_to_an_earlier_ping_sends_nothing(router):
    done = router.say(9, Subscribe(1, LONG, 0))
    assert sizes(router.say(1, Pong(sent(done, Ping, 1)[-1].number - 1))) == []


def test_answer_to_a_repeated_ping_sends_the_next_frame(router):
    router.say(9, Subscribe(1, LONG, 0))  # its Ping is omitted, as while packets are queued
    assert sizes(answer(router, router.wait(0.2))) == [1]


def test_change_behind_a_long_one_waits_for_it(router):
    done = router.say(9, Subscribe(1, LONG, 0))
    done += router.say(9, Subscribe(2, "y = 1", 0))
    for _ in range(PARTS):
        done += answer(router, done)
    assert [change.sequence for frame in sent(done, Announce, 1) for change in frame.changes] == [2] * PARTS + [3]


def test_change_of_one_frame_does_not_wait(router):
    assert sizes(router.say(9, Subscribe(1, "x = 1", 0))) == sizes(router.say(9, Subscribe(2, "y = 1", 0))) == [1]


def test_more_frames_than_may_wait_are_sent_at_once(router, monkeypatch):
    monkeypatch.setattr(announce_pace, "_MOST", PARTS)
    first = router.say(9, Subscribe(1, LONG, 0))
    done = router.say(9, Unsubscribe(1))
    assert (sizes(first), sizes(done)) == ([1], [1] * (2 * PARTS - 1))
    assert sizes(router.say(9, Subscribe(2, "y = 1", 0))) == [1]


def test_opening_of_a_stream_does_not_wait(monkeypatch):
    monkeypatch.setattr(announce_writer, "MAX_FRAME_FILTERS", 1)
    alone = Alone("a")
    alone.client_link(9)
    alone.say(9, Subscribe(1, LONG, 0))
    assert sizes(alone.leaf(1, "b") + alone.wait(0.2)) == [1] * PARTS


def test_frames_that_wait_are_forgotten_with_their_link(router):
    router.say(9, Subscribe(1, LONG, 0))
    router.close(1)
    again = router.leaf(2, "b", incarnation=2) + router.wait(0.2)
    assert sum(len(frame.filters) for frame in sent(again, Announce, 2)) == PARTS


def test_router_is_announcing_while_many_frames_wait(router, monkeypatch):
    monkeypatch.setattr(announce_pace, "_MANY", PARTS - 2)
    assert not router.router.is_announcing
    done = router.say(9, Subscribe(1, LONG, 0))  # one frame is sent, the others wait
    assert router.router.is_announcing
    answer(router, done)
    assert not router.router.is_announcing


def test_long_frames_wait_for_each_other_even_if_each_is_announced_alone(router, monkeypatch):
    monkeypatch.setattr(announce_pace, "_LONG", 0)
    first = router.say(9, Subscribe(1, "x = 1", 0))
    assert sizes(first) == [1]
    assert sizes(router.say(9, Subscribe(2, "x = 2", 0))) == []
    second = answer(router, first)
    assert sizes(second) == [1]
    answer(router, second)
    assert sizes(router.say(9, Subscribe(3, "x = 3", 0))) == [1]
