"""Durable subscriptions at one router."""

from support.durable_networks import DurableLab, answers, billing_lab, numbers, payloads, publish, report

from cbnet.network.durable.home_log import log
from cbnet.network.protocol.frames import (
    DurableLimits,
    DurableLost,
    DurableQuery,
    DurableRemove,
    DurableRemoved,
    DurableReport,
    RefusedFrame,
    Subscribed,
)
from cbnet.network.protocol.reasons import ReasonCode


def lab(**options):
    new = DurableLab("a", **options)
    return new, new.client("a"), new.client("a")


def test_messages_are_kept_while_the_client_is_away():
    net, alice, bob = billing_lab()
    bob.disconnect()
    for payload in numbers(5):
        alice.publish({"x": 1}, payload)
    alice.publish({"x": 0}, b"not wanted")
    net.run(1)
    bob.reconnect()
    net.run(2)
    assert payloads(bob) == numbers(5)
    assert [message.offset for message in bob.stored] == [1, 2, 3, 4, 5]
    assert [(each.messages, each.next) for each in report(net, bob).subscriptions] == [(0, 6)]


def test_messages_are_kept_while_the_router_is_dead():
    net, alice, bob = billing_lab()
    bob.disconnect()
    publish(net, alice, numbers(5))
    net.kill("a")
    net.run(1)
    net.start("a")
    net.run(1)
    alice.publish({"x": 1}, b"5")
    bob.reconnect()
    net.run(2)
    assert payloads(bob) == numbers(6)


def test_a_message_that_is_not_on_disk_is_not_delivered():
    net, alice, bob = billing_lab()
    net.disks["a"].delay = 0.5
    alice.publish({"x": 1}, b"0")
    net.run(0.4)
    assert payloads(bob) == []
    net.run(0.4)
    assert payloads(bob) == [b"0"]


def test_what_is_not_acknowledged_in_time_comes_again():
    net, alice, bob = lab()
    bob.acknowledges = lambda message: message.deliveries == 2
    bob.subscribe_durable(1, "billing", "x > 0", ack_wait=3.0)
    net.run(1)
    alice.publish({"x": 1}, b"0")
    net.run(2.5)
    assert [message.deliveries for message in bob.stored] == [1]
    net.run(10)
    assert [message.deliveries for message in bob.stored] == [1, 2]
    first, second = (message.at for message in bob.stored)
    assert 3.0 <= second - first < 3.5


def test_acknowledging_up_to_an_offset_covers_what_this_client_received():
    net, alice, bob = billing_lab(acknowledges=lambda _: False, ack_wait=100)
    publish(net, alice, numbers(5))
    bob.acknowledge(1, up_to=3)
    bob.acknowledge(1, 5)
    net.run(1)
    net.kill("a")
    net.start("a")
    net.run(2)
    assert payloads(bob) == [*numbers(5), b"3"]


def test_several_clients_share_a_subscription():
    net, alice, bob = billing_lab()
    carol = net.client("a")
    carol.subscribe_durable(7, "billing")
    net.run(1)
    publish(net, alice, numbers(10))
    assert len(bob.stored) == len(carol.stored) == 5
    assert sorted(payloads(bob) + payloads(carol)) == numbers(10)
    assert payloads(bob) == sorted(payloads(bob))


def test_messages_of_a_client_that_leaves_go_to_another():
    net, alice, bob = billing_lab(acknowledges=lambda _: False, ack_wait=1000)
    carol = net.client("a")
    publish(net, alice, numbers(10))
    carol.subscribe_durable(1, "billing")
    net.run(1)
    assert payloads(carol) == []
    bob.disconnect()
    net.run(1)
    assert payloads(carol) == numbers(10)
    assert {message.deliveries for message in carol.stored} == {2}


def test_a_consumer_has_at_most_a_window_of_messages():
    net, alice, bob = billing_lab(acknowledges=lambda _: False, window=3, ack_wait=1000)
    publish(net, alice, numbers(10))
    assert payloads(bob) == numbers(3)
    bob.acknowledge(1, 1, 2)
    net.run(1)
    assert payloads(bob) == numbers(5)


def test_a_backlog_that_is_not_in_memory_is_read_from_disk(monkeypatch):
    monkeypatch.setattr(log, "_TAIL_BYTES", 50_000)
    net, alice, bob = billing_lab(window=7)
    bob.disconnect()
    for payload in numbers(1_000):
        alice.publish({"x": 1}, payload)
    net.run(2)
    bob.reconnect()
    net.run(0.6)
    for payload in numbers(500):
        alice.publish({"x": 1}, payload)
    net.run(10)
    assert payloads(bob) == numbers(1_000) + numbers(500)


def test_a_client_that_follows_another_receives_what_waits_in_order(monkeypatch):
    monkeypatch.setattr(log, "_TAIL_BYTES", 0)  # messages are read from the disk
    net, alice, bob = billing_lab(acknowledges=lambda _: False, window=10)
    carol = net.client("a")
    bob.disconnect()
    publish(net, alice, numbers(20))
    net.disks["a"].delay = 0.5
    bob.reconnect()
    net.run(0.7)  # ten messages are being read
    bob.subscribe_durable(1, "billing", window=5)
    net.run(2)
    assert payloads(bob) == numbers(5)
    bob.disconnect()
    net.run(1)
    carol.subscribe_durable(1, "billing", window=20)
    net.run(5)
    assert payloads(carol) == numbers(20)


def test_a_full_subscription_refuses_and_counts_what_it_does_not_store():
    net, alice, bob = billing_lab(acknowledges=lambda _: False, limits=DurableLimits(messages=3))
    publish(net, alice, numbers(5))
    assert payloads(bob) == numbers(3)
    assert sum(frame.messages for frame in answers(bob, DurableLost)) == 2
    assert net.memory.router("a").counters["dropped.journal_full"] == 2
    assert [each.lost for each in report(net, bob).subscriptions] == [2]


def test_the_oldest_messages_make_room_if_that_is_the_policy():
    net, alice, bob = billing_lab(limits=DurableLimits(bytes=30, policy="drop oldest"))
    bob.disconnect()
    for payload in numbers(5):
        alice.publish({"x": 1}, payload)  # 9 bytes each: an array of {"x": 1}, [] and the payload
    net.run(1)
    bob.reconnect()
    net.run(2)
    assert payloads(bob) == numbers(5)[2:]
    assert sum(frame.messages for frame in answers(bob, DurableLost)) == 2


def test_messages_that_are_too_old_are_dropped():
    net, alice, bob = billing_lab(limits=DurableLimits(age=10.0))
    bob.disconnect()
    alice.publish({"x": 1}, b"old")
    net.run(8)
    alice.publish({"x": 1}, b"new")
    net.run(4)
    bob.reconnect()
    net.run(2)
    assert payloads(bob) == [b"new"]
    assert sum(frame.messages for frame in answers(bob, DurableLost)) == 1


def test_a_full_disk_is_a_state_and_not_the_end():
    net, alice, bob = billing_lab()
    net.disks["a"].is_full = True
    for payload in numbers(3):
        alice.publish({"x": 1}, payload)
        net.run(1)
    alice.send(DurableQuery(1))
    net.run(1)
    assert answers(alice, DurableReport)[-1].problem == "the journal cannot be written: the disk is full"
    assert payloads(bob) == []
    net.disks["a"].is_full = False
    net.run(2)
    alice.publish({"x": 1}, b"3")
    net.run(2)
    assert payloads(bob) == [b"0", b"3"]  # the first one was on its way when the disk was found full
    assert sum(frame.messages for frame in answers(bob, DurableLost)) == 2


def test_a_router_without_a_journal_refuses_with_the_remedy():
    net, _, bob = lab(diskless="a")
    bob.subscribe_durable(1, "billing", "x > 0")
    net.run(1)
    assert answers(bob, RefusedFrame) == [
        RefusedFrame(
            70, 1,
            "router a has no journal, so it cannot have durable subscriptions; "
            'set journal = "FOLDER" in its configuration', ReasonCode.INVALID,
        )
    ]  # fmt: skip


def test_a_subscription_keeps_its_predicate():
    net, alice, _ = billing_lab()
    alice.subscribe_durable(1, "billing", "x > 1")
    alice.subscribe_durable(2, "payments")
    alice.subscribe_durable(3, "billing", "0 < x")
    net.run(1)
    assert [frame.reason.partition(";")[0] for frame in answers(alice, RefusedFrame)] == [
        "durable subscription 'billing' has another predicate: x > 0",
        "there is no durable subscription 'payments'",
    ]
    assert [frame.id for frame in answers(alice, Subscribed)] == [3]


def test_a_removed_subscription_is_gone_also_after_a_restart():
    net, alice, bob = billing_lab()
    alice.send(DurableRemove(5, "billing"))
    alice.send(DurableRemove(6, "billing"))
    net.run(1)
    assert answers(alice, DurableRemoved) == [DurableRemoved(5)]
    assert [frame.number for frame in answers(alice, RefusedFrame)] == [6]
    assert answers(bob, RefusedFrame) == [
        RefusedFrame(70, 1, "durable subscription 'billing' was removed", ReasonCode.REMOVED)
    ]
    bob.durable.clear()
    net.kill("a")
    net.start("a")
    net.run(2)
    assert report(net, alice).subscriptions == []
    assert len(net.memory.router("a").fib) == 0


def test_messages_take_the_fast_path_unless_a_durable_subscription_wants_them():
    net, alice, bob = lab(is_fast=True)
    bob.subscribe_durable(1, "billing", "x > 0")
    bob.subscribe(2, "y > 0")
    net.run(1)
    before = net.memory.hosts["a"].bytes.handled
    alice.publish({"y": 1}, b"plain")
    net.run(1)
    after = net.memory.hosts["a"].bytes.handled
    assert after > before
    alice.publish({"x": 1, "y": 1}, b"both")
    net.run(1)
    assert net.memory.hosts["a"].bytes.handled == after
    assert [message.payload for message in bob.deliveries] == [b"plain", b"both"]
    assert payloads(bob) == [b"both"]
