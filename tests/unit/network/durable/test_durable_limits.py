"""Limits of durable subscriptions: set when one is created, and changed for all its clients."""

from support.durable_networks import DurableLab, answers, billing_lab, numbers, payloads, report
from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet.network.durable import durable_registry
from cbnet.network.protocol.frames import (
    DurableLimit,
    DurableLimited,
    DurableLimits,
    DurableLost,
    DurableRemove,
    DurableSubscribe,
    RefusedFrame,
    Subscribed,
)
from cbnet.network.security.rights import Rights

TWO = DurableLimits(messages=2)


def lab(*, limits=None):
    """Return a router with the durable subscription `billing` of `bob`, who is away, and `alice`."""
    net = DurableLab("a")
    alice, bob = net.client("a"), net.client("a")
    bob.subscribe_durable(1, "billing", "x > 0", limits=limits)
    net.run(1)
    bob.disconnect()
    net.run(1)
    return net, alice, bob


def limits_of(net, client):
    (billing,) = report(net, client).subscriptions
    return billing.limits


def limit(net, client, **changes):
    members = dict.fromkeys(DurableLimits.__struct_fields__) | changes
    client.send(DurableLimit(number=7, name="billing", **members))
    net.run(1)
    return answers(client, DurableLimited)[-1].limits


def publish(net, client, *texts):
    for payload in texts:
        client.publish({"x": 1}, payload)
    net.run(1)


def test_joining_with_other_limits_is_refused_and_changes_nothing():
    net, alice, _ = lab(limits=TWO)
    for id, other in enumerate((DurableLimits(messages=3), DurableLimits(), DurableLimits(2, policy="drop oldest"))):
        alice.subscribe_durable(id, "billing", limits=other)
    net.run(1)
    assert [frame.reason for frame in answers(alice, RefusedFrame)] == [
        f"durable subscription 'billing' has other limits: 2 messages (refuse), not {given}; "
        "leave the limits out, or change them by `cbnet durable limit billing`"
        for given in ("3 messages (refuse)", "no limits", "2 messages (drop oldest)")
    ]
    assert limits_of(net, alice) == TWO
    publish(net, alice, *numbers(3))
    assert payloads(alice) == []


def test_joining_without_limits_or_with_its_own_keeps_them():
    net, alice, _ = lab(limits=TWO)
    alice.subscribe_durable(1, "billing")
    alice.subscribe_durable(2, "billing", "x > 0", limits=TWO)
    net.run(1)
    assert [frame.id for frame in answers(alice, Subscribed)] == [1, 2]
    assert limits_of(net, alice) == TWO


def test_a_change_concerns_the_given_limits_only_and_survives_a_restart():
    net, alice, _ = lab(limits=DurableLimits(messages=2, bytes=1_000))
    expected = DurableLimits(messages=5, bytes=1_000, policy="drop oldest")
    assert limit(net, alice, messages=5, policy="drop oldest") == expected
    assert limits_of(net, alice) == expected
    net.kill("a")
    net.start("a")
    net.run(2)
    assert limits_of(net, alice) == expected
    assert limit(net, alice, messages=0, bytes=0, policy="refuse") == DurableLimits()


def test_a_client_that_returns_after_a_change_is_not_refused():
    net, alice, bob = lab(limits=TWO)
    limit(net, alice, messages=3)
    publish(net, alice, *numbers(4))
    bob.reconnect()
    net.run(2)
    assert payloads(bob) == numbers(3)
    assert answers(bob, RefusedFrame) == []


def test_a_client_that_returns_to_a_router_without_its_subscription_restores_the_limits():
    net = DurableLab("a")
    alice = net.client("a")
    alice.send(DurableSubscribe(1, "billing", "x > 0", 0.0, 10, 30.0, TWO, is_restored=True))
    net.run(1)
    assert limits_of(net, alice) == TWO


def test_messages_above_a_new_limit_stay_and_new_ones_are_refused_until_there_is_room():
    net, alice, bob = lab()
    publish(net, alice, *numbers(3))
    limit(net, alice, messages=2)
    publish(net, alice, b"refused")
    bob.acknowledges = lambda _: False
    bob.reconnect()
    net.run(2)
    assert payloads(bob) == numbers(3)
    bob.acknowledge(1, 1)  # two are left, as many as the limit
    net.run(0.5)
    publish(net, alice, b"refused, too")
    bob.acknowledge(1, 2)
    net.run(0.5)
    publish(net, alice, b"stored")
    assert payloads(bob) == [*numbers(3), b"stored"]


def test_messages_above_a_new_limit_are_dropped_for_a_new_one_if_that_is_the_policy():
    net, alice, bob = lab()
    publish(net, alice, *numbers(4))
    limit(net, alice, messages=2, policy="drop oldest")
    publish(net, alice, b"4")
    bob.reconnect()
    net.run(2)
    assert payloads(bob) == [b"3", b"4"]
    assert sum(frame.messages for frame in answers(bob, DurableLost)) == 3


def test_messages_older_than_a_new_age_are_dropped():
    net, alice, bob = lab()
    publish(net, alice, b"old")
    net.run(10)
    publish(net, alice, b"new")
    limit(net, alice, age=8.0)
    bob.reconnect()
    net.run(2)
    assert payloads(bob) == [b"new"]


def test_a_higher_limit_lets_a_full_subscription_store_again():
    net, alice, bob = lab(limits=TWO)
    publish(net, alice, *numbers(3))
    limit(net, alice, messages=3)
    publish(net, alice, b"3")
    bob.reconnect()
    net.run(2)
    assert payloads(bob) == [b"0", b"1", b"3"]


def test_only_the_account_of_a_subscription_changes_its_limits():
    net = GuardedRouter({"ann": Rights(), "bob": Rights()})
    assert sent(net.say(1, DurableSubscribe(1, "s", "x > 1", 0.0, 10, 30.0, TWO)), Subscribed)
    (refused,) = sent(net.say(2, DurableLimit(3, "s", 5, None, None, None)), RefusedFrame)
    assert (refused.frame, refused.number) == (77, 3)
    assert refused.reason.startswith("there is no durable subscription 's' of account 'bob' at router")
    assert sent(net.say(1, DurableLimit(4, "s", 5, None, None, None)), DurableLimited) == [
        DurableLimited(4, DurableLimits(messages=5))
    ]


# --- all durable subscriptions of a router


def refused(net, predicates):
    """Create durable subscriptions, all before the first is on disk; return their number, and the refusals."""
    bob = net.client("a")
    for id, predicate in enumerate(predicates):
        bob.send(DurableSubscribe(id, f"orders {id}", predicate, 0.0, 1, 5.0, None))
    net.run(2)
    return len(answers(bob, Subscribed)), [(frame.number, frame.reason) for frame in answers(bob, RefusedFrame)]


def test_a_router_has_at_most_4096_durable_subscriptions():
    reason = "durable subscriptions of a router: 4,097 is over the limit of 4,096"
    assert refused(DurableLab("a"), ["x > 0"] * 4_097) == (4_096, [(4_096, reason)])


def test_durable_subscriptions_of_a_router_have_at_most_4096_filters_also_those_that_are_not_on_disk_yet():
    net = DurableLab("a-b")
    predicates = [" or ".join(f"x = {1_000 * n + each}" for each in range(1_000)) for n in range(5)]
    reason = "filters of the durable subscriptions of a router: 5,000 is over the limit of 4,096"
    assert refused(net, predicates) == (4, [(4, reason)])
    assert net.memory.router("b").version.names == {"a", "b"}  # which refuses longer records


def test_filters_of_the_durable_subscriptions_of_a_router_have_at_most_2_mib():
    net = DurableLab("a")
    predicates = [
        f'x = "{n:02}{"x" * 65_000}"' for n in range(33)
    ]  # 32 of 65,002 characters each, and a few bytes more
    created, [(number, reason)] = refused(net, predicates)
    assert (created, number) == (32, 32)
    assert reason.startswith("bytes of these filters: 2,14")
    assert reason.endswith(" is over the limit of 2,097,152")


def test_a_removed_durable_subscription_makes_room_for_filters_that_no_other_has(monkeypatch):
    monkeypatch.setattr(durable_registry, "MAX_FRAME_FILTERS", 3)
    net, _, bob = billing_lab()  # x > 0
    reason = "filters of the durable subscriptions of a router: 4 is over the limit of 3"
    assert refused(net, ["x > 0 or x = -1 or x = -2 or x = -3"]) == (0, [(0, reason)])
    assert refused(net, ["x > 0 or x = -1 or x = -2"]) == (1, [])
    bob.send(DurableRemove(1, "orders 0"))
    net.run(1)
    assert refused(net, ["x = -3 or x = -4 or x = -5"]) == (0, [(0, reason)])
    assert refused(net, ["x = -3 or x = -4"]) == (1, [])
