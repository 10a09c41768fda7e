"""Limits of durable subscriptions: set when one is created, and changed for all its clients."""

from support.durable_networks import DurableLab, answers, numbers, payloads, report
from support.guarded_router import GuardedRouter
from support.memory_networks import sent

from cbnet.network.protocol.frames import (
    DurableLimit,
    DurableLimited,
    DurableLimits,
    DurableLost,
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
