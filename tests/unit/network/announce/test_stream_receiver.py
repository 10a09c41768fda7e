"""Limits on the filters of one session; counted by hand."""

import pytest
from support.memory_networks import Alone, encoded, shut

from cbnet.network.protocol.frames import Announce, StreamChange

BYTES = len(encoded("x = 1")[0])


def refusal(filters, limit_filters, limit_bytes):
    return {
        1: f"this link announces {filters} filters of {filters * BYTES} bytes; the limits of this router are "
        f"{limit_filters:,} (`session_filters`) and {limit_bytes:,} (`session_bytes`)"
    }


def router(**settings):
    new = Alone(**settings)
    new.leaf(1, "b")
    return new


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({"session_filters": 3}, (3, 1 << 29)),
        ({"session_bytes": 3 * BYTES}, (5_000_000, 3 * BYTES)),
    ],
)
def test_link_that_announces_too_much_is_closed(settings, limits):
    new = router(**settings)
    assert shut(new.announce(1, ["x = 1", "x = 2", "x = 3"])) == {}
    assert shut(new.announce(1, ["x = 4"], sequence=2)) == refusal(4, *limits)
    assert new.router.counters["links_over_limit"] == 1
    new.wait(5.0)
    assert len(new.router.fib.aggregation) == 0


def test_subscriptions_and_offers_count_together():
    new = router(session_filters=3)
    assert shut(new.announce(1, ["x = 1", "x = 2"], ["x = 3", "x = 4"])) == refusal(4, 3, 1 << 29)


def test_parts_of_an_incomplete_change_count():
    new = router(session_filters=3)
    assert shut(new.announce(1, ["x = 1", "x = 2"], is_last=False)) == {}
    assert shut(new.announce(1, ["x = 3", "x = 4"], side=b"", is_last=False)) == refusal(4, 3, 1 << 29)


def test_filters_that_streams_share_or_have_removed_count_once_or_not():
    new = router(session_filters=4)
    new.announce(1, ["x = 1", "x = 2", "x = 3"])
    copies = [StreamChange(number, 1, bytes([number] * 16), 1, [], [], True) for number in range(2, 9)]
    assert shut(new.say(1, Announce([], [], copies, []))) == {}
    removal = [StreamChange(number, 2, b"", 0, [], [0], True) for number in range(1, 9)]
    assert shut(new.say(1, Announce(encoded("x = 3"), [], removal, []))) == {}
    addition = [StreamChange(number, 3, b"", 0, [0], [], True) for number in range(1, 9)]
    assert shut(new.say(1, Announce(encoded("x = 4"), [], addition, []))) == {}
    assert len(new.router.fib.aggregation) == 3


def test_contents_that_outlive_sessions_are_limited():
    new = Alone(session_filters=40)
    for session in (1, 2, 3):
        new.leaf(session, "b", [f"x = {session * 100 + i}" for i in range(20)], incarnation=session)
        new.close(session)
        new.wait(5.0)
    assert len(new.router.fib.aggregation) == 40
