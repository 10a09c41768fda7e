"""Messages that are delivered too often: to the dead letters, or lost."""

import pytest
from support.durable_networks import DurableLab, answers, billing_lab, numbers, payloads, publish, report

from cbnet.errors import InputError
from cbnet.network.client.async_subscription import durable_options
from cbnet.network.protocol.frames import DurableLimit, DurableLimits, DurableLost, DurableRemove, RefusedFrame

TWICE = DurableLimits(max_deliveries=2, dead_letter="failed")


def lab(*, limits=TWICE, dead=None, acknowledges=lambda _: False):
    """Return a router, a publisher, and `bob`, who has `failed` (id 2) and `billing` (id 1)."""
    net = DurableLab("a")
    alice, bob = net.client("a"), net.client("a")
    bob.acknowledges = lambda message: message.subscription == 2 or acknowledges(message)
    bob.subscribe_durable(2, "failed", "false", limits=dead)
    bob.subscribe_durable(1, "billing", "x > 0", ack_wait=1.0, limits=limits)
    net.run(1)
    return net, alice, bob


def of(client, id):
    return [message for message in client.stored if message.subscription == id]


def states(net, client):
    return {each.name: each for each in report(net, client).subscriptions}


def refusals(net, client, frame):
    client.send(frame)
    net.run(0.5)
    return [each.reason for each in answers(client, RefusedFrame)]


def limit(**changes):
    members = dict.fromkeys(DurableLimits.__struct_fields__) | changes
    return DurableLimit(number=7, name="billing", **members)


def test_a_message_is_delivered_as_often_as_allowed_and_then_a_dead_letter():
    net, alice, bob = lab()
    publish(net, alice, [b"poison"], y="z")
    net.run(5)
    assert [message.deliveries for message in of(bob, 1)] == [1, 2]
    (dead,) = of(bob, 2)
    reason = "not acknowledged within max_deliveries"
    mark = {"subscription": "billing", "offset": 1, "deliveries": 2, "reason": reason}
    assert (dead.offset, dead.deliveries, dead.payload) == (1, 1, b"poison")
    assert dead.attributes == {"x": 1, "y": "z", "dead_letter": mark}
    assert (dead.incarnation, dead.number) == (of(bob, 1)[0].incarnation, of(bob, 1)[0].number)
    after = states(net, bob)
    assert (after["billing"].messages, after["billing"].lost) == (0, 0)
    assert net.memory.router("a").counters["dead_letters"] == 1


def test_other_messages_go_on_in_their_order():
    net, alice, bob = lab(acknowledges=lambda message: message.payload != b"1")
    publish(net, alice, numbers(4))
    net.run(5)
    assert [message.payload for message in of(bob, 1)] == [b"0", b"1", b"2", b"3", b"1"]
    assert [message.payload for message in of(bob, 2)] == [b"1"]


def test_without_a_name_for_them_dead_letters_are_lost_with_the_reason():
    net, alice, bob = lab(limits=DurableLimits(max_deliveries=1))
    publish(net, alice, numbers(2))
    net.run(5)
    assert len(of(bob, 1)) == 2
    assert [(each.messages, each.cause) for each in answers(bob, DurableLost)] == [
        (2, "not acknowledged within max_deliveries (1)")
    ]
    assert (states(net, bob)["billing"].messages, states(net, bob)["billing"].lost) == (0, 2)


def test_a_client_that_leaves_counts_as_a_delivery():
    net, alice, bob = lab()
    publish(net, alice, [b"poison"])
    for _ in range(2):
        bob.disconnect()
        net.run(0.2)
        bob.reconnect()
        net.run(0.5)
    assert [message.deliveries for message in of(bob, 1)] == [1, 2]
    assert [message.payload for message in of(bob, 2)] == [b"poison"]


def test_deliveries_are_counted_again_after_a_restart_of_the_home():
    net, alice, bob = lab()
    publish(net, alice, [b"poison"])
    assert [message.deliveries for message in of(bob, 1)] == [1]
    net.kill("a")
    net.start("a")
    net.run(10)
    assert [message.deliveries for message in of(bob, 1)] == [1, 1, 2]
    assert [message.payload for message in of(bob, 2)] == [b"poison"]


@pytest.mark.parametrize("moment", [0.05 * step for step in range(30)])
def test_whenever_the_router_is_killed_a_message_is_in_one_of_both_and_never_gone(moment):
    net, alice, bob = lab(dead=DurableLimits())
    bob.acknowledges = lambda _: False
    publish(net, alice, [b"poison"])
    net.run(1 + moment)  # the message becomes a dead letter about two seconds after it was published
    bob.disconnect()
    net.kill("a")
    net.start("a")
    net.run(4)
    carol = net.client("a")
    assert sum(each.messages for each in report(net, carol).subscriptions) == 1


def test_a_message_for_which_the_dead_letters_have_no_room_stays_and_is_sent_again():
    net, alice, bob = lab(dead=DurableLimits(messages=1))
    bob.acknowledges = lambda _: False
    publish(net, alice, numbers(2))
    net.run(10)
    after = states(net, bob)
    assert (after["failed"].messages, after["billing"].messages, after["billing"].lost) == (1, 1, 0)
    assert max(message.deliveries for message in of(bob, 1)) > 2


def test_a_message_stays_if_the_dead_letters_were_removed():
    net, alice, bob = lab()
    assert refusals(net, bob, DurableRemove(1, "failed")) == ["durable subscription 'failed' was removed"]
    publish(net, alice, [b"poison"])
    net.run(10)
    assert states(net, bob)["billing"].messages == 1
    assert len(of(bob, 1)) > 2


def test_dead_letters_drop_their_oldest_if_that_is_their_policy():
    net, alice, bob = lab(dead=DurableLimits(messages=1, policy="drop oldest"))
    bob.acknowledges = lambda _: False
    publish(net, alice, numbers(3))
    net.run(10)
    after = states(net, bob)
    assert (after["failed"].messages, after["failed"].lost, after["billing"].messages) == (1, 2, 0)


def test_dead_letters_must_exist_and_go_in_no_circle():
    net, _, bob = lab()
    missing = "there is no durable subscription 'lost' for dead letters; create it first, for instance with the predicate false"
    assert refusals(net, bob, limit(dead_letter="lost")) == [missing]
    itself = "dead letters would go in a circle, from billing to billing; name another subscription"
    assert refusals(net, bob, limit(dead_letter="billing"))[1:] == [itself]
    bob.send(DurableLimit(8, "failed", None, None, None, None, None, 1, "billing"))
    net.run(0.5)
    circle = "dead letters would go in a circle, from failed to billing to failed; name another subscription"
    assert [each.reason for each in answers(bob, RefusedFrame)][2:] == [circle]
    assert states(net, bob)["billing"].limits == TWICE


def test_dead_letters_need_a_number_of_deliveries():
    with pytest.raises(InputError, match="no message gets to the dead letters 'failed' without max_deliveries"):
        durable_options("billing", None, DurableLimits(dead_letter="failed"))
    net, _, bob = lab()
    (reason,) = refusals(net, bob, limit(max_deliveries=0))
    assert reason.startswith("no message gets to the dead letters 'failed' without max_deliveries")


def test_without_the_limit_a_message_is_delivered_until_it_is_acknowledged():
    net, alice, bob = billing_lab(ack_wait=0.5, acknowledges=lambda message: message.deliveries == 8)
    publish(net, alice, [b"slow"])
    net.run(10)
    assert payloads(bob) == [b"slow"] * 8


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (DurableLimits(), "no limits"),
        (DurableLimits(policy="drop oldest"), "no limits (drop oldest)"),
        (DurableLimits(messages=2, max_deliveries=5), "2 messages (refuse), 5 deliveries"),
        (TWICE, "2 deliveries, then to failed"),
    ],
)
def test_limits_are_stated_in_words(limits, text):
    assert str(limits) == text
