"""Quotas of filters and constraints count durable subscriptions, and those that begin in the past."""

from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet.network.forwarding import search_credit
from cbnet.network.link.counters import DropReason
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
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from cbnet.network.router import durable_clients
from cbnet.network.security.rights import Rights

DURABLE = "too many filters in all your subscriptions, durable ones included: {}; your limit is 3"
PLAIN = "too many filters in all your subscriptions: {}; your limit is 3"


def net(**options):
    """Return a router with a client of three filters at most, and another one."""
    return GuardedRouter(
        {"ann": Rights(filters=3, watch=False), "bob": Rights(filters=1)}, history="x > -10", **options
    )


def durable(id, name, predicate):
    return DurableSubscribe(id, name, predicate, 0.0, 10, 30.0, None)


def replay(id, predicate):
    return Replay(id, predicate, 0.0, 10, HistoryStart())


def answer(done):
    """Return the reason of a refusal; empty if a subscription is confirmed."""
    refused = sent(done, RefusedFrame)
    assert len(refused) + len(sent(done, Subscribed)) == 1
    return refused[0].reason.partition(" (")[0] if refused else ""


def test_all_kinds_of_subscriptions_count_together():
    a = net()
    assert answer(a.say(1, durable(1, "s", "x = 1"))) == ""
    assert answer(a.say(1, replay(2, "x = 2"))) == ""
    assert answer(a.say(1, Subscribe(3, "x = 3", 0.0))) == ""
    for fourth in (durable(4, "t", "x = 4"), replay(4, "x = 4"), Subscribe(4, "x = 4", 0.0)):
        assert answer(a.say(1, fourth)).startswith(DURABLE.format(4))
    assert answer(a.say(2, Subscribe(1, "x = 1", 0.0))) == ""  # another account
    assert a.router.counters["denied.subscribe"] == 3


def test_a_durable_subscription_counts_while_its_client_is_away_and_after_a_restart():
    a = net()
    assert answer(a.say(1, durable(1, "s", "x = 1 or x = 2"))) == ""
    a.router.closed(1, a.memory.now)
    a.connect(3, "ann")
    assert answer(a.say(3, Subscribe(1, "x = 3 or x = 4", 0.0))).startswith(DURABLE.format(4))
    a.start()
    a.connect(1, "ann")
    assert answer(a.say(1, Subscribe(1, "x = 3 or x = 4", 0.0))).startswith(DURABLE.format(4))
    a.say(1, DurableRemove(1, "s"))
    assert answer(a.say(1, Subscribe(1, "x = 3 or x = 4", 0.0))) == ""


def test_joining_a_durable_subscription_adds_nothing():
    a = net()
    a.connect(3, "ann")
    assert answer(a.say(1, durable(1, "s", "x = 1 or x = 2 or x = 3"))) == ""
    assert answer(a.say(3, durable(1, "s", ""))) == ""
    assert answer(a.say(3, durable(2, "s", "x = 1 or x = 2 or x = 3"))) == ""


def test_a_replay_counts_until_it_ends_or_is_replaced():
    a = net()
    assert answer(a.say(1, replay(1, "x = 1 or x = 2 or x = 3"))) == ""
    assert answer(a.say(1, replay(1, "x = 4 or x = 5 or x = 6"))) == ""
    assert answer(a.say(1, Subscribe(2, "x = 1", 0.0))).startswith(PLAIN.format(4))
    a.say(1, Unsubscribe(1))
    assert answer(a.say(1, Subscribe(2, "x = 1", 0.0))) == ""
    a.connect(3, "ann")
    assert answer(a.say(3, replay(1, "x = 1 or x = 2"))) == ""
    a.router.closed(3, a.memory.now)
    assert answer(a.say(1, replay(1, "x = 1 or x = 2"))) == ""


def test_a_refused_subscription_counts_nothing():
    a = net()
    assert answer(a.say(1, durable(1, "s", "x = 1 or x = 2 or x = 3 or x = 4"))).startswith(PLAIN.format(4))
    assert answer(a.say(1, replay(1, "y = 1"))).startswith("the history of a")
    assert answer(a.say(1, durable(1, "s", "x = 1 or x = 2 or x = 3"))) == ""


def test_constraints_count_too():
    a = GuardedRouter({"ann": Rights(constraints=3)}, history="x > -10")
    assert answer(a.say(1, durable(1, "s", "x = 1 and y = 2"))) == ""
    reason = answer(a.say(1, replay(2, "x = 1 and #t")))
    assert reason.startswith(
        "too many constraints in all your subscriptions, durable ones included: 4; your limit is 3"
    )
    assert answer(a.say(1, replay(2, "x = 1"))) == ""


def test_a_filter_with_too_many_constraints_is_refused():
    a = GuardedRouter({"ann": Rights()}, history="x > -10")
    wide = " and ".join(f"a{n} = 1" for n in range(257))
    for frame in (durable(1, "s", wide), replay(1, f"x > 0 and {wide}")):
        assert "constraints and conditions of a filter" in answer(a.say(1, frame))


def test_one_account_cannot_use_up_the_publishers_that_a_home_knows(monkeypatch):
    monkeypatch.setattr(durable_clients, "MAX_ACCOUNT_PUBLISHERS", 2)
    a = net()
    a.say(2, durable(1, "s", "x > 0"))

    def publish(link, publisher, number=1):
        done = a.say(link, DurablePublish(publisher, number, number, 5.0, {"x": 1}, [], b""))
        return [each.reason.partition(" (")[0] for each in sent(done, RefusedFrame)]

    assert [publish(1, publisher) for publisher in (1, 2)] == [[], []]
    (reason,) = publish(1, 3)
    assert reason.startswith("your clients are too many durable publishers: 2 in 7,200 s")
    assert publish(1, 1, number=2) == []
    assert publish(2, 3) == []  # another account
    a.router._core.clock.now += 7_200
    assert publish(1, 3) == []


def test_with_a_smaller_quota_the_durable_subscriptions_stay():
    a = net()
    a.say(1, durable(1, "s", "x = 1"), Subscribe(2, "x = 2", 0.0), replay(3, "x = 3"))
    done = a.change({"ann": Rights(filters=2, watch=False), "bob": Rights()})
    assert [(refused.frame, refused.number) for refused in sent(done, RefusedFrame)] == [(20, 2)]
    done = a.change({"ann": Rights(filters=1, watch=False), "bob": Rights()})
    assert [(refused.frame, refused.number) for refused in sent(done, RefusedFrame)] == [(76, 3)]
    published = (Publish(number, {"x": number}, [], b"", False) for number in (1, 2, 3))
    assert [each.id for each in sent(a.say(2, *published), DurableDeliver)] == [1]
    (report,) = sent(a.say(1, DurableQuery(1)), DurableReport)
    assert [each.name for each in report.subscriptions] == ["s"]


def test_undecided_messages_of_one_account_leave_the_durable_subscriptions_of_others_alone(monkeypatch):
    """Each of ann's messages takes all combinations of a client; bob's takes 14,400, of which 10,000 are free."""
    monkeypatch.setattr(search_credit, "RATE", search_credit.CLIENT)
    a = GuardedRouter({"ann": Rights(), "bob": Rights()})
    a.say(1, durable(1, "s", "p + q < 0"))
    a.say(2, durable(1, "s", "r + s = 238"))  # 119 and 119, which are compared last
    wide = {name: list(range(1_000)) for name in "pq"}
    done = a.say(
        1,
        Publish(1, wide, [], b"", False),
        Publish(2, {name: list(range(120)) for name in "rs"}, [], b"", False),
    )
    assert len(sent(done, DurableDeliver, 2)) == 1
    assert a.router.counters[DropReason.UNDECIDED.key] == 1
