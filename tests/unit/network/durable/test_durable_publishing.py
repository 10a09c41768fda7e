"""Acknowledged publishing: at one router, and across several."""

import pytest
from support.durable_networks import DurableLab, answers, home_behind_link, numbers, payloads

from cbnet.network.forwarding.forwarder import Forwarder
from cbnet.network.protocol.frames import (
    DurableLimits,
    DurableMark,
    DurablePublished,
    DurableRemove,
    DurableSubscribe,
    ForgetHome,
    HomeRecord,
    Packet,
    RefusedFrame,
    Subscribed,
)
from cbnet.network.protocol.wire import encode


def receipt(client, number):
    """Return what a publisher was told: subscriptions, homes that did not answer, refusals."""
    answer = client.receipts.get(number)
    return None if answer is None else (answer.subscriptions, answer.silent, answer.refused)


def chain(limits=None, **options):
    """Return three routers in a chain: a publisher at a, a durable subscription at c."""
    net = DurableLab("a-b b-c", **options)
    alice, carol = net.client("a"), net.client("c")
    carol.subscribe_durable(1, "billing", "x > 0", wait=5.0, limits=limits)
    net.run(3)
    assert [frame.is_confirmed for frame in answers(carol, Subscribed)] == [True]
    return net, alice, carol


@pytest.mark.parametrize("is_fast", [False, True])
def test_the_receipt_counts_the_subscriptions_that_have_the_message(is_fast):
    net, alice, carol = chain(is_fast=is_fast)
    bob = net.client("b")
    bob.subscribe_durable(1, "audit", "x > 0")
    bob.subscribe_durable(2, "other", "x > 5")
    net.run(3)
    one, two, none = (alice.publish_durable({"x": x}, b"message") for x in (1, 6, 0))
    net.run(2)
    assert [receipt(alice, number) for number in (one, two, none)] == [(2, [], []), (3, [], []), (0, [], [])]
    assert payloads(carol) == [b"message"] * 2
    assert payloads(bob) == [b"message"] * 3


def test_nothing_is_acknowledged_before_it_is_on_disk():
    net, alice, carol = chain()
    net.disks["c"].delay = 2.0
    number = alice.publish_durable({"x": 1}, b"0")
    net.run(1.9)
    assert number not in alice.receipts
    net.kill("c")
    net.run(1)
    net.start("c")
    net.run(6)
    assert receipt(alice, number) == (1, [], [])
    assert payloads(carol) == [b"0"]


def test_a_home_that_is_away_is_waited_for():
    net, alice, carol = chain()
    net.kill("c")
    net.run(5)
    number = alice.publish_durable({"x": 1}, b"0", timeout=20)
    late = alice.publish_durable({"x": 1}, b"1", timeout=3)
    net.run(5)
    assert number not in alice.receipts
    assert receipt(alice, late) == (0, ["c"], [])
    net.start("c")
    net.run(8)
    assert receipt(alice, number) == (1, [], [])
    assert b"0" in payloads(carol)


def test_a_home_that_is_away_is_known_after_the_source_has_restarted():
    net, alice, _ = chain()
    net.kill("c")
    net.run(2)
    net.kill("b")
    net.kill("a")
    net.start("a")  # alone: only its journal knows of c
    net.run(5)
    number = alice.publish_durable({"x": 1}, b"0", timeout=2)
    net.run(4)
    assert receipt(alice, number) == (0, ["c"], [])


def test_a_source_without_a_journal_learns_from_its_neighbours_before_it_answers():
    net, alice, carol = chain(diskless="a")
    net.kill("a")
    net.start("a")
    number = alice.publish_durable({"x": 1}, b"0", timeout=20)
    net.run(10)
    assert receipt(alice, number) == (1, [], [])
    assert payloads(carol) == [b"0"]


def test_a_source_without_a_journal_answers_nothing_while_it_cannot_know_the_homes():
    net, alice, carol = chain(diskless="a")
    net.kill("a")
    net.memory.cut("a", "b")
    net.start("a")
    early = alice.publish_durable({"x": 1}, b"0", timeout=10)
    net.run(12)
    assert receipt(alice, early) == (0, ["a"], [])
    late = alice.publish_durable({"x": 1}, b"1", timeout=20)
    net.memory.repair("a", "b")
    net.run(10)
    assert receipt(alice, late) == (1, [], [])
    assert payloads(carol) == [b"1"]


def test_a_neighbour_that_is_lost_before_its_records_arrive_does_not_count():
    net, alice, _ = chain(diskless="ab")
    net.kill("a")
    net.start("a")
    records = net.memory.router("a").durable.records
    while not records._complete_links:
        net.run(0.01)
    net.memory.cut("a", "b")
    number = alice.publish_durable({"x": 1}, b"0", timeout=5)
    net.run(8)
    assert receipt(alice, number) in ((0, ["a"], []), (0, ["c"], []))


def test_a_router_confirms_a_home_when_its_record_is_on_disk():
    net = DurableLab("a-b")
    alice, bob = net.client("a"), net.client("b")
    net.disks["a"].delay = 3.0
    bob.subscribe_durable(1, "billing", "x > 0", wait=8.0)
    net.run(2.5)
    assert answers(bob, Subscribed) == []
    net.kill("a")
    net.memory.cut("a", "b")
    net.start("a")
    net.run(5)
    net.memory.repair("a", "b")
    net.disks["a"].delay = 0.01
    net.run(10)
    assert receipt(alice, alice.publish_durable({"x": 1}, b"0")) is None
    net.run(3)
    assert payloads(bob) == [b"0"]


def test_lost_packets_are_sent_again_and_stored_once():
    net, alice, carol = chain()
    sent = [alice.publish_durable({"x": 1}, payload, timeout=30) for payload in numbers(20)]
    net.run(0.02)
    net.kill("b")
    net.run(1)
    net.start("b")
    sent += [alice.publish_durable({"x": 1}, payload, timeout=30) for payload in numbers(40)[20:]]
    net.run(20)
    assert all(receipt(alice, number) == (1, [], []) for number in sent)
    assert payloads(carol) == numbers(40)


def test_a_publisher_that_changes_its_router_sends_again_what_is_stored_once():
    net, alice, carol = chain()
    dave = net.client("b")
    dave.subscribe(1, "x > 0")
    net.run(2)
    net.disks["c"].delay = 1.0
    sent = [alice.publish_durable({"x": 1}, payload, timeout=30) for payload in numbers(10)]
    net.run(0.7)
    alice.move("b")
    net.run(10)
    assert all(receipt(alice, number) == (1, [], []) for number in sent)
    assert payloads(carol) == numbers(10)
    assert [message.payload for message in dave.deliveries] == numbers(10)


def test_messages_are_stored_in_order_though_one_was_lost():
    net, alice, carol = chain()
    kept = net.memory.router("a")._core.outbox.send
    lost = []

    def send(link, frame):
        if getattr(frame, "payload", b"") == b"3" and not lost and hasattr(frame, "durable"):
            lost.append(frame)
        else:
            kept(link, frame)

    net.memory.router("a")._core.outbox.send = send
    for payload in numbers(10):
        alice.publish_durable({"x": 1}, payload)
    net.run(0.5)
    assert lost
    assert payloads(carol) == numbers(3)
    net.run(3)
    assert payloads(carol) == numbers(10)


def test_a_message_that_is_sent_again_is_also_for_homes_that_its_source_cannot_reach(monkeypatch):
    """Another router may know a path there, and the home must know which message comes before."""
    net = DurableLab("a-b a-c")
    alice = net.client("a")
    for name in "bc":
        net.client(name).subscribe_durable(1, name, "x = 1")
    net.run(3)
    marks, begin = [], Forwarder.begin_durable
    recorded = lambda self, packet, mark: (marks.append(mark), begin(self, packet, mark))  # noqa: E731
    monkeypatch.setattr(Forwarder, "begin_durable", recorded)
    net.memory.cut("a", "b")
    net.disks["c"].delay = 3.0
    net.run(1)
    for _ in range(2):
        alice.publish_durable({"x": 1})
    net.run(2)
    assert [mark.homes for mark in marks if mark.is_repeated][:2] == [{"b": 0, "c": 0}, {"b": 1, "c": 1}]


def test_a_full_subscription_refuses_durable_publishers():
    net, alice, carol = chain(DurableLimits(messages=2))
    carol.acknowledges = lambda _: False
    sent = [alice.publish_durable({"x": 1}, payload) for payload in numbers(3)]
    net.run(2)
    full = "c: durable subscription billing is full: 2 messages, 18 bytes"
    assert [receipt(alice, number) for number in sent] == [(1, [], []), (1, [], []), (0, [], [full])]
    carol.acknowledge(1, up_to=2)
    net.run(1)
    assert alice.publish_durable({"x": 1}, b"3") == 4
    net.run(2)
    assert receipt(alice, 4) == (1, [], [])


def test_a_publisher_learns_that_older_messages_were_dropped():
    net, alice, carol = chain(DurableLimits(messages=2, policy="drop oldest"))
    carol.acknowledges = lambda _: False
    sent = [alice.publish_durable({"x": 1}, payload) for payload in numbers(3)]
    net.run(2)
    assert [alice.receipts[number].dropped for number in sent] == [0, 0, 1]


def test_a_full_disk_refuses_durable_publishers():
    net, alice, _ = chain()
    net.disks["c"].is_full = True
    first = alice.publish_durable({"x": 1}, b"0", timeout=3)
    net.run(2)
    second = alice.publish_durable({"x": 1}, b"1", timeout=3)
    net.run(5)
    assert receipt(alice, first) == (0, ["c"], [])
    assert receipt(alice, second) == (0, [], ["c: the journal cannot be written: the disk is full"])


@pytest.mark.parametrize("diskless", ["", "a"])
@pytest.mark.parametrize(
    "frame", [DurableSubscribe(1, "billing", "", 0.0, 100, 30.0, None), DurableRemove(1, "billing")]
)
def test_a_durable_subscription_lives_at_one_router(diskless, frame):
    net, alice, _ = chain(diskless=diskless)
    alice.send(frame)
    net.run(1)
    (refused,) = answers(alice, RefusedFrame)
    assert refused.reason == "durable subscription 'billing' lives at router c; connect there"


def test_a_home_that_will_not_return_is_forgotten():
    net, alice, _ = chain()
    net.kill("c")
    net.run(5)
    alice.send(ForgetHome(1, "c"))
    net.run(1)
    number = alice.publish_durable({"x": 1}, b"0")
    net.run(2)
    assert receipt(alice, number) == (0, [], [])
    net.start("c")  # it outbids the empty record
    net.run(5)
    number = alice.publish_durable({"x": 1}, b"1")
    net.run(2)
    assert receipt(alice, number) == (1, [], [])


def test_an_answer_that_is_lost_is_given_again():
    net, alice, carol = chain()
    number = alice.publish_durable({"x": 1}, b"0")
    net.run(1)
    assert receipt(alice, number) == (1, [], [])
    again = alice.publisher.add({"x": 1}, [], b"0", net.memory.now, 5)
    frame = alice.publisher.frame(again, net.memory.now)
    frame.sequence = frame.floor = number
    alice.answers.clear()
    alice.send(frame)
    net.run(2)
    assert [frame.subscriptions for frame in answers(alice, DurablePublished)] == [1]
    assert payloads(carol) == [b"0"]


def test_a_source_that_was_suspended_sends_no_message_after_its_timeout():
    net, alice, carol = chain()
    net.kill("c")
    number = alice.publish_durable({"x": 1}, b"0", timeout=100)
    net.run(2)
    net.memory.jump_clock("a", 200)
    net.run(1)
    assert receipt(alice, number) == (0, ["c"], [])
    net.start("c")
    net.run(10)
    assert payloads(carol) == []


def test_a_message_that_is_held_back_is_dropped_if_its_source_does_not_send_it_again():
    net, bob, host, link = home_behind_link()

    def arrive(number, previous):
        mark = DurableMark(1, {"b": previous}, False)
        packet = Packet("a", 77, number, 1, 0, 0, 0, {"x": 1}, [], b"%d" % number, durable=mark)
        host.received_bytes(link, encode(packet))
        net.run(1)

    arrive(2, previous=1)
    net.run(50)
    arrive(3, previous=2)
    net.run(30)
    arrive(1, previous=0)  # 2 was dropped, so 3 still waits
    assert payloads(bob) == [b"1"]
    arrive(2, previous=0)
    assert payloads(bob) == [b"1", b"2", b"3"]


def test_plain_subscribers_receive_durable_messages_once():
    net, alice, _ = chain()
    bob = net.client("b")
    bob.subscribe(1, "x > 0")
    net.run(2)
    net.disks["c"].delay = 3.0  # so that the source sends again
    alice.publish_durable({"x": 1}, b"0")
    net.run(8)
    assert [message.payload for message in bob.deliveries] == [b"0"]
    assert net.memory.router("a").counters["durable_repeated"] > 0


def test_a_record_that_a_home_did_not_make_is_outbid_and_not_all_the_time():
    net, alice, _ = chain()
    forged = HomeRecord("c", 5, 900, "", [], [])
    records = net.memory.router("b").durable.records
    records.table.set(forged)  # as if another router were named c
    records.flood(forged)
    before = net.memory.frames["HomeRecord"]
    net.run(4)
    number = alice.publish_durable({"x": 1}, b"0")
    net.run(2)
    assert receipt(alice, number) == (1, [], [])
    assert net.memory.router("a").durable.records.table.get("c").sequence == 901
    assert net.memory.frames["HomeRecord"] - before < 10


def test_a_home_that_starts_without_its_journal_is_still_waited_for(caplog):
    net, alice, _ = chain()
    net.kill("c")
    net.memory.hosts["c"].disk = None
    net.start("c")
    net.run(5)
    assert "journal missing" in caplog.text
    number = alice.publish_durable({"x": 1}, b"0", timeout=3)
    net.run(5)
    assert receipt(alice, number) == (0, ["c"], [])
