"""Rights of clients and their durable subscriptions."""

import pytest
from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet import parse
from cbnet.network.protocol.frames import (
    DurableDeliver,
    DurablePublish,
    DurableQuery,
    DurableRemove,
    DurableReport,
    DurableSubscribe,
    HistoryStart,
    Publish,
    RefusedFrame,
    Replay,
    Subscribed,
)
from cbnet.network.security.rights import Rights

RIGHTS = {
    "ann": Rights(publish=parse("x > 0"), subscribe=parse("x > 0"), watch=False, manage=False),
    "bob": Rights(watch=True, manage=False),
}


def guarded(**settings):
    return GuardedRouter(RIGHTS, **settings)


def subscribe(name, predicate, start=None):
    return DurableSubscribe(1, name, predicate, 0.0, 10, 30.0, None, start)


def test_what_a_client_may_not_subscribe_to_or_publish_is_refused():
    net = guarded()
    (refused,) = sent(net.say(1, subscribe("s", "x > -1")), RefusedFrame)
    assert (refused.frame, refused.number) == (70, 1)
    assert refused.reason.startswith("you may only subscribe to `x > 0`")
    (refused,) = sent(net.say(1, DurablePublish(5, 1, 1, 5.0, {"x": 0}, [], b"")), RefusedFrame)
    assert (refused.frame, refused.number) == (72, 1)
    assert net.router.counters["denied.subscribe"] == net.router.counters["denied.publish"] == 1


def test_names_belong_to_accounts():
    net = guarded()
    assert sent(net.say(1, subscribe("s", "x > 1")), Subscribed)
    assert sent(net.say(2, subscribe("s", "x > 2")), Subscribed)
    (own,) = sent(net.say(1, DurableQuery(1)), DurableReport)
    assert [(each.account, each.predicate) for each in own.subscriptions] == [("ann", "x > 1")]
    (every,) = sent(net.say(2, DurableQuery(1)), DurableReport)
    assert [each.account for each in every.subscriptions] == ["ann", "bob"]
    net.say(2, DurableRemove(1, "s"))
    (every,) = sent(net.say(2, DurableQuery(1)), DurableReport)
    assert [each.account for each in every.subscriptions] == ["ann"]


def test_a_number_outside_the_window_is_refused():
    net = guarded()
    (refused,) = sent(net.say(2, DurablePublish(5, 2_000, 1, 5.0, {"x": 0}, [], b"")), RefusedFrame)
    assert refused.reason == "message 2000 is not one of the 1,024 from 1 on"


def test_client_whose_rights_shrink_gets_no_more_and_cannot_join_again():
    net = guarded()
    assert sent(net.say(1, subscribe("s", "x > 1")), Subscribed)
    narrow = {"ann": Rights(subscribe=parse("x = 5"), watch=False, manage=False), "bob": RIGHTS["bob"]}
    (refused,) = sent(net.change(narrow), RefusedFrame)
    assert (refused.frame, refused.number) == (70, 1)
    assert refused.reason.startswith("you may only subscribe to `x = 5`")
    (refused,) = sent(net.say(1, subscribe("s", "")), RefusedFrame)  # without a predicate
    assert refused.reason.startswith("you may only subscribe to `x = 5`")
    (own,) = sent(net.say(1, DurableQuery(1)), DurableReport)
    assert [(each.name, each.clients) for each in own.subscriptions] == [("s", 0)]


def replay(predicate):
    return Replay(1, predicate, 0.0, 10, HistoryStart())


def test_a_client_sees_of_the_history_what_it_may_subscribe_to():
    net = guarded(history="x > -10")
    net.say(2, Publish(1, {"x": -5}, [], b"", False), Publish(2, {"x": 5}, [], b"", False))
    (refused,) = sent(net.say(1, replay("x > -10")), RefusedFrame)
    assert (refused.frame, refused.number) == (76, 1)
    assert refused.reason.startswith("you may only subscribe to `x > 0`")
    assert net.router.counters["denied.subscribe"] == 1
    delivered = sent(net.say(1, replay("x > 0")), DurableDeliver)
    assert [each.offset for each in delivered] == [2]
    (own,) = sent(net.say(1, DurableQuery(1)), DurableReport)
    assert (own.history.predicate, own.history.messages) == ("", 2)
    (whole,) = sent(net.say(2, DurableQuery(1)), DurableReport)
    assert whole.history.predicate == "x > -10"


@pytest.mark.parametrize("begin", [replay, lambda predicate: subscribe("s", predicate, HistoryStart())])
def test_only_a_client_that_may_watch_learns_the_predicate_of_the_history(begin):
    net = guarded(history="secret = 42 and x > 5")
    (refused,) = sent(net.say(1, begin("x > 1")), RefusedFrame)
    assert refused.reason.startswith("the history of a lacks messages that match this predicate")
    assert not any(part in refused.reason for part in ("secret", "42", "x > 5"))
    (refused,) = sent(net.say(2, begin("x > 1")), RefusedFrame)
    assert refused.reason.startswith("the history of a has only messages that match secret = 42 and x > 5")


def test_a_client_whose_rights_shrink_gets_no_more_of_the_history():
    net = guarded(history="x > -10")
    net.say(1, replay("x > 0"))
    narrow = {"ann": Rights(subscribe=parse("x = 5"), watch=False, manage=False), "bob": RIGHTS["bob"]}
    (refused,) = sent(net.change(narrow), RefusedFrame)
    assert (refused.frame, refused.number) == (76, 1)
    assert not sent(net.say(2, Publish(1, {"x": 1}, [], b"", False)), DurableDeliver)
