"""Durable subscriptions that begin in the past."""

from support.durable_networks import DurableLab, answers, history_lab, numbers, payloads, publish, report

from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import (
    DurableLimits,
    DurableLost,
    DurableMark,
    DurableRemove,
    HistoryStart,
    Packet,
    RefusedFrame,
    Replaying,
    Subscribed,
)
from cbnet.network.protocol.wire import encode

FIRST = HistoryStart()


def status(net, client):
    return report(net, client).subscriptions[0]


def copy_limited(net, client, messages):
    """Subscribe from the first message on, to at most so many that are not acknowledged."""
    client.acknowledges = lambda _: False
    limits = DurableLimits(messages=messages)
    client.subscribe_durable(1, "billing", "x > 0", start=FIRST, limits=limits, ack_wait=1_000)
    net.run(1)


def test_the_history_comes_first_with_offsets_of_the_subscription():
    net, alice, bob = history_lab()
    for n in range(600):
        alice.publish({"x": 1, "y": n % 2}, b"%d" % n)
    net.run(1)
    bob.subscribe_durable(1, "billing", "x > 0 and y = 1", start=HistoryStart(offset=3), wait=5.0)
    net.run(2)
    publish(net, alice, [b"600"], y=1)
    assert payloads(bob) == [b"%d" % n for n in range(600) if n >= 2 and n % 2] + [b"600"]
    assert [message.offset for message in bob.stored] == list(range(1, 301))
    assert [(each.first, each.next) for each in answers(bob, Replaying)] == [(3, 601)]
    assert [each.is_confirmed for each in answers(bob, Subscribed)] == [True]
    assert status(net, bob).messages == 0


def test_a_copy_goes_on_after_a_crash_without_a_gap_or_a_repetition():
    net, alice, bob = history_lab()
    for n in range(2_000):
        alice.publish({"x": 1}, b"%d" % n)
    net.run(2)
    bob.acknowledges = lambda _: False
    bob.subscribe_durable(1, "billing", "x > 0", start=FIRST, window=2_000, ack_wait=1_000)
    net.run(0.03)
    net.kill("a")
    copied = len(net.disks["a"].entries(1))
    assert 0 < copied < 2_000
    net.start("a")
    bob.stored.clear()
    net.run(3)
    assert payloads(bob) == numbers(2_000)


def test_messages_are_copied_as_fast_as_a_limited_subscription_has_room():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(50))
    copy_limited(net, bob, 10)
    assert payloads(bob) == numbers(10)
    publish(net, alice, [b"50"])
    bob.acknowledges = lambda _: True
    bob.acknowledge(1, up_to=10)
    net.run(5)
    assert payloads(bob) == numbers(51)
    assert answers(bob, DurableLost) == []
    assert alice.publish_durable({"x": 1}, b"51")
    net.run(1)
    assert [receipt.subscriptions for receipt in alice.receipts.values()] == [1]


def test_what_the_history_drops_before_it_is_copied_is_reported():
    net, alice, bob = history_lab(history_messages=20)
    publish(net, alice, numbers(20))
    copy_limited(net, bob, 5)
    publish(net, alice, [b"%d" % n for n in range(20, 35)])
    bob.acknowledges = lambda _: True
    bob.acknowledge(1, up_to=5)
    net.run(10)
    assert payloads(bob) == numbers(5) + [b"%d" % n for n in range(15, 35)]
    assert [lost.messages for lost in answers(bob, DurableLost)] == [10]


def test_where_messages_may_be_missing_in_the_history_is_reported():
    net, alice, bob = history_lab()
    publish(net, alice, [b"0"])
    net.kill("a")
    net.start("a")
    net.run(2)
    publish(net, alice, [b"1"])
    bob.subscribe_durable(1, "billing", "x > 0", start=FIRST)
    net.run(2)
    assert payloads(bob) == numbers(2)
    (lost,) = answers(bob, DurableLost)
    assert (lost.messages, lost.cause) == (0, "a was restarted: messages that were published meanwhile may be missing")


def test_a_start_that_is_not_kept_any_more_is_reported():
    net, alice, bob = history_lab(history_messages=3)
    publish(net, alice, numbers(5))
    bob.subscribe_durable(1, "billing", "x > 0", start=HistoryStart(offset=1))
    net.run(1)
    assert payloads(bob) == [b"2", b"3", b"4"]
    (lost,) = answers(bob, DurableLost)
    assert lost.cause == "the history of a begins at offset 3: 2 messages before are not kept"


def test_an_existing_subscription_goes_on_where_it_was():
    net, alice, bob = history_lab()
    publish(net, alice, [b"before"])
    bob.subscribe_durable(1, "billing", "x > 0")
    net.run(1)
    publish(net, alice, [b"0"])
    carol = net.client("a")
    carol.subscribe_durable(1, "billing", "x > 0", start=FIRST)
    net.run(1)
    assert (payloads(bob), payloads(carol)) == ([b"0"], [])
    assert answers(carol, Replaying) == []


def test_a_subscription_outside_the_history_is_refused_and_not_created():
    net, _, bob = history_lab()
    bob.subscribe_durable(1, "billing", "x > -1", start=FIRST)
    net.run(1)
    (refused,) = answers(bob, RefusedFrame)
    assert refused.reason.startswith("the history of a has only messages that match x > 0")
    assert report(net, bob).subscriptions == []


def test_a_subscription_can_be_removed_while_it_is_copied():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(50))
    copy_limited(net, bob, 10)
    bob.send(DurableRemove(1, "billing"))
    net.run(1)
    publish(net, alice, [b"50"])
    found = report(net, bob)
    assert (found.subscriptions, found.history.replays) == ([], 0)


def test_without_the_history_a_copy_ends_and_the_loss_is_reported():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(50))
    copy_limited(net, bob, 10)
    net.kill("a")
    net.memory.hosts["a"].settings = Settings("a")
    net.start("a")
    bob.stored.clear()
    bob.acknowledges = lambda _: True
    net.run(3)
    publish(net, alice, [b"50"])
    assert payloads(bob) == [*numbers(10), b"50"]
    assert len(answers(bob, DurableLost)) == 1


def test_a_message_that_is_held_back_reaches_a_subscription_that_begins_meanwhile():
    net = DurableLab("a-b", history="x > 0")
    bob, host = net.client("b"), net.memory.hosts["b"]
    link = next(end for end in host.ends.values() if end.peer.owner is net.memory.hosts["a"])

    def arrive(number, previous):
        host.received_bytes(link, encode(packet(number, DurableMark(1, {"b": previous}, False))))
        net.run(1)

    arrive(2, previous=1)  # waits for the one before
    bob.subscribe_durable(1, "billing", "x > 0", start=FIRST)
    net.run(1)
    assert payloads(bob) == []
    arrive(1, previous=0)
    assert payloads(bob) == [b"1", b"2"]


def packet(number, mark):
    return Packet(
        source="a", incarnation=77, number=number, hops=1, tree=0, side=0, tries=0, attributes={"x": 1}, tags=[],
        payload=b"%d" % number, durable=mark,
    )  # fmt: skip
