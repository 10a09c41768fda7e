"""Histories of routers, and plain subscriptions that begin in the past."""

import pytest
from support.durable_networks import DurableLab, answers, history_lab, numbers, payloads, publish, report

from cbnet.errors import InputError
from cbnet.network.durable.home_log.journal import HISTORY_ID
from cbnet.network.forwarding.search_credit import UNDECIDED
from cbnet.network.link.counters import DropReason
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import (
    DurableLost,
    HistoryStart,
    RefusedFrame,
    Replaying,
    Status,
    StatusRequest,
    Subscribed,
    Unsubscribe,
    Unsubscribed,
)
from cbnet.network.security.access import OPEN_ACCESS
from cbnet.network.simulation.memory_network import MemoryNetwork

FIRST = HistoryStart()


def history(net, client):
    return report(net, client).history


def test_a_subscription_begins_with_the_first_message_and_goes_on_with_new_ones():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(5))
    alice.publish({"x": 0}, b"does not match")
    bob.replay(1, "x > 0", FIRST)
    net.run(1)
    assert payloads(bob) == numbers(5)
    publish(net, alice, [b"5", b"6"])
    assert payloads(bob) == numbers(7)
    assert [message.offset for message in bob.stored] == [1, 2, 3, 4, 5, 6, 7]
    (begin,) = answers(bob, Replaying)
    assert (begin.id, begin.first, begin.next) == (1, 1, 6)
    assert len(answers(bob, Subscribed)) == 1
    assert answers(bob, DurableLost) == []


def test_a_subscription_begins_at_an_offset_or_some_seconds_ago():
    net, alice, bob = history_lab()
    for payload in numbers(5):
        publish(net, alice, [payload])
        net.run(9.5)
    bob.replay(1, "x > 0", HistoryStart(offset=4))
    net.run(1)
    assert payloads(bob) == [b"3", b"4"]
    carol = net.client("a")
    carol.replay(1, "x > 0", HistoryStart(age=35.0))
    net.run(1)
    assert payloads(carol) == [b"2", b"3", b"4"]


def in_order(client):
    """Record what a client receives: payloads, and numbers of missing messages."""
    received = []
    client.on_answer = lambda frame: received.append(frame.messages) if isinstance(frame, DurableLost) else None
    client.acknowledges = lambda message: received.append(message.payload) or True
    return received


def test_messages_that_cannot_be_read_are_reported_at_their_place_to_each_subscription():
    net, alice, bob = history_lab()
    carol, dave = net.client("a"), net.client("a")
    publish(net, alice, numbers(10))
    for offset in (1, 5, 6, 10):
        net.disks["a"].damage(HISTORY_ID, offset)
    received = in_order(bob)
    bob.replay(1, "x > 0", FIRST, window=3)
    net.run(2)
    assert received == [1, *numbers(4)[1:], 2, b"6", b"7", b"8", 1]
    received = in_order(carol)
    carol.replay(1, "x > 0", HistoryStart(offset=4))
    net.run(2)
    assert received == [b"3", 2, b"6", b"7", b"8", 1]
    received = in_order(dave)
    dave.subscribe_durable(1, "billing", "x > 0", start=FIRST)
    net.run(2)
    assert [each for each in received if isinstance(each, bytes)] == payloads(bob)
    assert sum(each for each in received if isinstance(each, int)) == 4


def test_messages_that_are_dropped_while_they_are_read_are_reported():
    net, alice, bob = history_lab(history_messages=10)
    publish(net, alice, numbers(10))
    received = in_order(bob)
    net.disks["a"].delay = 0.5
    alice.publish({"x": 1}, b"10")  # makes the disk busy; takes the place of the first message
    net.run(0.1)
    bob.replay(1, "x > 0", FIRST, window=20)
    net.run(0.1)
    publish(net, alice, [b"11", b"12"])
    net.run(3)
    assert received == [2, *(b"%d" % n for n in range(3, 13))]


def test_only_messages_that_match_are_replayed():
    net, alice, bob = history_lab()
    for n in range(300):
        alice.publish({"x": 1 + n % 50, "y": n}, b"%d" % n)
    net.run(1)
    bob.replay(1, "x > 48 and y >= 0", FIRST, window=3)
    net.run(2)
    assert payloads(bob) == [b"%d" % n for n in range(300) if n % 50 >= 48]


def test_an_undecided_message_is_lost_for_its_subscription_alone():
    net, alice, bob = history_lab()
    wide = {"x": 1, "p": list(range(1_000)), "q": list(range(1_000))}
    alice.publish(wide, b"1")
    net.run(1)
    bob.replay(1, "x > 0 and p + q < 0", FIRST)
    bob.replay(2, "x > 0", FIRST)
    for read, payload in enumerate((b"1", b"2"), 1):  # from the disk, and at the end
        net.run(1)
        losses = [(lost.id, lost.messages, lost.cause) for lost in answers(bob, DurableLost)]
        assert losses == [(1, 1, UNDECIDED)] * read
        assert payloads(bob)[-1] == payload
        assert net.memory.router("a").counters[DropReason.UNDECIDED.key] == read
        alice.publish(wide, b"2")


def test_messages_of_the_whole_network_reach_the_history():
    net = DurableLab("a-b b-c c-h", own={"h": {"history": "x > 0"}})
    alice, bob = net.client("a"), net.client("h")
    publish(net, alice, numbers(5))
    net.run(1)
    bob.replay(1, "x > 0", FIRST, wait=5.0)
    net.run(2)
    assert payloads(bob) == numbers(5)
    (confirmed,) = answers(bob, Subscribed)
    assert (confirmed.is_confirmed, confirmed.routers) == (True, 4)


def test_a_durable_publisher_waits_until_the_history_has_its_message():
    net, alice, _ = history_lab()
    net.disks["a"].delay = 0.5
    number = alice.publish_durable({"x": 1}, b"0")
    net.run(0.4)
    assert number not in alice.receipts
    net.run(0.4)
    assert alice.receipts[number].subscriptions == 0  # the history is none
    assert alice.receipts[number].silent == []


def test_a_client_gets_no_more_than_its_window():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(10))
    bob.acknowledges = lambda _: False
    bob.replay(1, "x > 0", FIRST, window=4)
    net.run(1)
    assert payloads(bob) == numbers(4)
    publish(net, alice, [b"10"])
    bob.acknowledge(1, 1)
    net.run(1)
    assert payloads(bob) == numbers(4)  # half of the window is not free
    bob.acknowledge(1, up_to=3)
    net.run(1)
    assert payloads(bob) == numbers(7)
    bob.acknowledges = lambda _: True
    bob.acknowledge(1, up_to=7)
    net.run(2)
    assert payloads(bob) == numbers(11)


def test_limits_drop_the_oldest_and_who_asks_for_them_is_told():
    net, alice, bob = history_lab(history_messages=3)
    publish(net, alice, numbers(10))
    bob.replay(1, "x > 0", HistoryStart(offset=2))
    net.run(1)
    assert payloads(bob) == [b"7", b"8", b"9"]
    (lost,) = answers(bob, DurableLost)
    assert lost.cause == "the history of a begins at offset 8: 6 messages before are not kept"
    assert lost.messages == 0
    found = history(net, bob)
    assert (found.messages, found.first, found.next, found.replays) == (3, 8, 11, 1)
    assert found.predicate == "x > 0"


def test_limits_of_bytes_and_age():
    net, alice, _ = history_lab(history_bytes=1_000, history_age=20.0)
    publish(net, alice, [bytes(400)] * 5)
    found = history(net, alice)
    assert (found.messages, found.next) == (2, 6)
    assert found.bytes < 1_000
    net.run(21)
    found = history(net, alice)
    assert (found.messages, found.bytes, found.first, found.next, found.oldest) == (0, 0, 6, 6, 0.0)


def test_a_start_before_the_history_is_reported():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(2))
    bob.replay(1, "x > 0", HistoryStart(age=3_600.0))
    net.run(1)
    assert payloads(bob) == numbers(2)
    (lost,) = answers(bob, DurableLost)
    assert lost.cause.startswith("the history of a is complete for the last ")
    carol = net.client("a")
    carol.replay(1, "x > 0", HistoryStart(age=3.0))
    net.run(1)
    assert payloads(carol) == numbers(2)
    assert answers(carol, DurableLost) == []


def test_a_slow_client_is_told_what_was_dropped_before_it_read_it():
    net, alice, bob = history_lab(history_messages=5)
    publish(net, alice, numbers(5))
    bob.acknowledges = lambda _: False
    bob.replay(1, "x > 0", FIRST, window=2)
    net.run(1)
    publish(net, alice, [b"5", b"6", b"7", b"8"])
    bob.acknowledges = lambda _: True
    bob.acknowledge(1, up_to=2)
    net.run(2)
    assert payloads(bob) == [b"0", b"1", *(b"%d" % n for n in range(4, 9))]
    (lost,) = answers(bob, DurableLost)
    assert (lost.messages, lost.cause) == (2, "2 messages were dropped from the history before they were read")


def test_a_history_outlives_a_restart_and_notes_it():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(3))
    bob.replay(1, "x > 0", FIRST)
    net.run(1)
    net.kill("a")
    net.run(1)
    net.start("a")
    net.run(2)
    publish(net, alice, [b"3"])
    assert payloads(bob) == numbers(4)  # it goes on at the offset after the last message
    assert [message.offset for message in bob.stored] == [1, 2, 3, 5]
    (note,) = [lost for lost in answers(bob, DurableLost) if "meanwhile" in lost.cause]
    assert note.cause == "a was restarted: messages that were published meanwhile may be missing"
    carol = net.client("a")
    carol.replay(1, "x > 0", FIRST)
    net.run(1)
    assert payloads(carol) == numbers(4)
    assert [lost.cause for lost in answers(carol, DurableLost)] == [note.cause]


def test_what_was_not_on_disk_in_a_crash_is_not_replayed():
    net, alice, bob = history_lab()
    bob.replay(1, "x > 0", FIRST)
    publish(net, alice, numbers(2))
    net.disks["a"].delay = 1.0
    alice.publish({"x": 1}, b"lost")
    net.run(0.2)
    net.kill("a")
    net.disks["a"].delay = 0.005
    net.start("a")
    net.run(2)
    publish(net, alice, [b"2"])
    assert payloads(bob) == numbers(3)


@pytest.mark.parametrize(("start", "limits"), [(HistoryStart(age=0.0), {}), (FIRST, {"history_messages": 2})])
def test_a_start_is_not_beyond_what_a_crash_keeps(start, limits):
    net, alice, bob = history_lab(**limits)
    publish(net, alice, numbers(2))
    net.run(1)
    net.disks["a"].delay = 1.0
    for _ in range(5):
        alice.publish({"x": 1}, b"lost")
    net.run(0.2)
    bob.replay(1, "x > 0", start)
    net.run(0.2)
    assert [answer.first for answer in answers(bob, Replaying)] == [3]  # the next one on disk
    net.kill("a")
    net.disks["a"].delay = 0.005
    net.start("a")
    net.run(2)
    publish(net, alice, [b"2"])
    assert payloads(bob) == [b"2"]
    assert answers(bob, RefusedFrame) == []


def test_messages_that_the_disk_did_not_take_are_noted():
    net, alice, bob = history_lab()
    bob.replay(1, "x > 0", FIRST)
    publish(net, alice, [b"0"])
    net.disks["a"].is_full = True
    publish(net, alice, [b"1"])  # waits for the disk
    publish(net, alice, [b"2", b"3"])
    net.disks["a"].is_full = False
    net.run(3)
    publish(net, alice, [b"4"])
    assert payloads(bob) == [b"0", b"1", b"4"]
    (lost,) = answers(bob, DurableLost)
    assert (lost.messages, lost.cause) == (2, "2 messages are missing in the history of a: its journal failed")


def test_times_never_run_back():
    net, alice, bob = history_lab()
    publish(net, alice, [b"0"])
    net.disks["a"].clock_offset = 1_000.0
    publish(net, alice, [b"1"])
    net.disks["a"].clock_offset = 0.0
    publish(net, alice, [b"2"])
    bob.replay(1, "x > 0", HistoryStart(age=0.2))
    net.run(1)
    assert payloads(bob) == [b"1", b"2"]  # more than the last 0.2 s, never less


def test_refusals():
    net, _, bob = history_lab()
    for id, predicate, start in (
        (1, "x > -1", FIRST), (2, "x >", FIRST), (3, "x > 0", HistoryStart(offset=2)),
        (4, "x > 0", HistoryStart(offset=1, journal=5)),
    ):  # fmt: skip
        bob.replay(id, predicate, start)
    net.run(1)
    reasons = {each.number: each.reason for each in answers(bob, RefusedFrame)}
    assert reasons[1] == (
        "the history of a has only messages that match x > 0; subscribe to a part of that, as in (x > 0) and …"
    )
    assert reasons[2].startswith("1:4: a value is missing")
    assert reasons[3] == "the history of a has no offset 2; begin at 1 to 1"
    assert reasons[4].startswith("offset 1 belongs to the history of another router than a")
    net, _, bob = history_lab(history="")
    bob.replay(1, "x > 0", FIRST)
    net.run(1)
    (refused,) = answers(bob, RefusedFrame)
    assert refused.reason.startswith('router a keeps no history; set history = "PREDICATE" in its configuration')


def test_a_history_needs_a_journal_and_a_valid_predicate():
    with pytest.raises(InputError, match="cannot keep a history without a journal"):
        MemoryNetwork(1).add(Settings("a", history="x > 0"))
    with pytest.raises(InputError, match="history: "):
        Settings("a", history="x >")
    with pytest.raises(InputError, match="history_messages"):
        Settings("a", history_messages=0)


def test_a_client_has_at_most_some_replays():
    net, _, bob = history_lab()
    for id in range(17):
        bob.replay(id, "x > 0", FIRST)
    net.run(1)
    assert [each.number for each in answers(bob, RefusedFrame)] == [16]
    assert history(net, bob).replays == 16
    bob.disconnect()
    carol = net.client("a")
    assert history(net, carol).replays == 0


def test_many_readers_take_turns():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(500))
    for id in range(16):
        bob.replay(id, "x > 0", FIRST, window=50)
    net.run(0.5)
    publish(net, alice, [b"500"])
    net.run(5)
    for id in range(16):
        assert [message.payload for message in bob.stored if message.subscription == id] == numbers(501)


def test_a_subscription_that_ended_gets_no_more():
    net, alice, bob = history_lab()
    bob.replay(1, "x > 0", FIRST)
    publish(net, alice, [b"0"])
    bob.send(Unsubscribe(1))
    publish(net, alice, [b"1"])
    assert payloads(bob) == [b"0"]
    assert len(answers(bob, Unsubscribed)) == 1


def test_other_limits_apply_after_a_reload():
    net, alice, _ = history_lab()
    publish(net, alice, numbers(10))
    router = net.memory.router("a")
    router.reload(Settings("a", history="x > 0", history_messages=4), OPEN_ACCESS, net.memory.now)
    publish(net, alice, [b"10"])
    found = history(net, alice)
    assert (found.messages, found.first, found.next) == (4, 8, 12)


def test_failed_routers_are_noted():
    net = DurableLab("a-b", history="x > 0")
    bob = net.client("a")
    bob.replay(1, "x > 0", FIRST)
    net.run(1)
    net.kill("b")
    net.run(6)
    assert "b cannot be reached: messages from there, or on the way through it, may be lost" in [
        lost.cause for lost in answers(bob, DurableLost)
    ]


def test_status_shows_the_history():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(3))
    bob.send(StatusRequest(1))
    net.run(0.5)
    (status,) = answers(bob, Status)
    assert (status.history.messages, status.history.first, status.history.next) == (3, 1, 4)
    assert status.history.bytes > 0
    assert status.history.complete <= status.history.oldest
