"""The log of a home: each message once, whatever it matches, until nobody needs it."""

import pytest
from support.durable_networks import DurableLab, answers, history_lab, numbers, payloads, publish
from support.journal_files import FileDisk

from cbnet.network.durable.home_log import log as module
from cbnet.network.durable.home_log.journal import HISTORY_ID, Assign, Discard, DropSet, SaveCursor, SaveSet, Stretch
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.frames import DurableRemove, DurableRemoved, HistoryStart
from cbnet.network.simulation.memory_network import MemoryNetwork


def lab(subscriptions, predicate="x > 0", **settings):
    """Return a router with subscriptions s1, s2 … of clients that are away; and a publisher."""
    net = DurableLab("a", **settings)
    alice = net.client("a")
    for n in range(1, subscriptions + 1):
        subscribe(net, n, predicate)
    return net, alice


def subscribe(net, n, predicate="x > 0", *, is_away=True, **options):
    """Subscribe with the name s1, s2 …; return the client."""
    client = net.client("a")
    client.subscribe_durable(1, f"s{n}", predicate, **options)
    net.run(0.5)
    if is_away:
        client.disconnect()
    return client


def content(net):
    return net.disks["a"]._written


def restart(net):
    net.kill("a")
    net.start("a")
    net.run(2)


def test_a_message_that_matches_a_hundred_subscriptions_is_one_row_and_one_set():
    net, alice = lab(100)
    publish(net, alice, numbers(3))
    number = alice.publish_durable({"x": 1}, b"3")
    net.run(1)
    assert alice.receipts[number].subscriptions == 100
    disk = content(net)
    assert (len(disk.entries), len(disk.state.sets), len({*disk.state.sets.values()})) == (4, 1, 1)
    assert {each.set_id for each in disk.entries.values()} == {*disk.state.sets}
    for id in (1, 50, 100):
        assert [*net.disks["a"].entries(id)] == [1, 2, 3, 4]  # offsets


def journal_bytes(folder, subscriptions):
    """Return the size of the tables of a journal after 3,000 messages for some equal subscriptions."""
    net = DurableLab.__new__(DurableLab)
    net.memory, net.clients = MemoryNetwork(1), 0
    disk = FileDisk(net.memory, folder)
    net.memory.add(Settings("a"), disk=disk)
    net.run(4)
    alice = net.client("a")
    for n in range(subscriptions):
        subscribe(net, n)
    for _ in range(30):
        publish(net, alice, [bytes(230)] * 100)
    (pages,) = disk._file._file.execute("PRAGMA page_count").fetchone()
    net.kill("a")
    return pages * 4_096


def test_a_hundred_equal_subscriptions_take_no_more_space_than_one(tmp_path):
    one, hundred = journal_bytes(tmp_path / "1", 1), journal_bytes(tmp_path / "100", 100)
    assert one > 3_000 * 230
    assert hundred < 1.2 * one


def test_messages_have_offsets_of_each_subscription():
    net, alice = lab(0)
    bob, carol = subscribe(net, 1, "x > 0", is_away=False), subscribe(net, 2, "x > 1", is_away=False)
    for x in (1, 2, 1, 2, 2):
        alice.publish({"x": x}, b"%d" % x)
    net.run(1)
    assert [(each.offset, each.payload) for each in bob.stored] == [
        (1, b"1"), (2, b"2"), (3, b"1"), (4, b"2"), (5, b"2"),
    ]  # fmt: skip
    assert [(each.offset, each.payload) for each in carol.stored] == [(1, b"2"), (2, b"2"), (3, b"2")]


# --- acknowledged beyond the floor


def test_what_is_acknowledged_beyond_the_floor_stays_so_after_a_restart():
    net, alice = lab(1)  # another one needs all messages
    bob = subscribe(net, 2, is_away=False, window=20, ack_wait=100)
    bob.acknowledges = lambda message: message.payload not in (b"2", b"3", b"7")
    publish(net, alice, numbers(10))
    bob.disconnect()
    restart(net)
    publish(net, alice, [b"10"])
    bob.stored.clear()
    bob.acknowledges = lambda _: True
    bob.reconnect()
    net.run(2)
    assert [(each.offset, each.payload) for each in bob.stored] == [
        (3, b"2"), (4, b"3"), (8, b"7"), (11, b"10"),
    ]  # fmt: skip
    assert content(net).state.cursors[2] == SaveCursor(2, (Stretch(12, 12, 0),))
    assert [*net.disks["a"].entries(1)] == [*range(1, 12)]


def test_acknowledgements_of_a_turn_are_one_row_and_free_one_span():
    net, alice = lab(0)
    bob = subscribe(net, 1, is_away=False, window=100, ack_wait=100)
    bob.acknowledges = lambda _: False
    publish(net, alice, numbers(50))
    disk = net.disks["a"]
    submitted = []
    submit = disk.submit
    disk.submit = lambda operations: (submitted.extend(operations), submit(operations))
    bob.acknowledge(1, up_to=30)
    net.run(0.5)
    assert submitted == [SaveCursor(1, (Stretch(31, 31, 0),)), Discard(1, 31)]


# --- freeing


def test_a_message_is_freed_when_all_have_acknowledged_it():
    net, alice = lab(1)
    bob = subscribe(net, 2, is_away=False)
    publish(net, alice, numbers(10))
    assert len(bob.stored) == len(content(net).entries) == 10
    carol = net.client("a")
    carol.subscribe_durable(1, "s1")
    net.run(1)
    assert payloads(carol) == numbers(10)
    assert content(net).entries == {}


def test_a_subscription_that_is_removed_frees_what_only_it_needs():
    net, alice = lab(2, "x > 0")
    subscribe(net, 3, "x = 2")
    for x in (1, 2, 1, 2):
        alice.publish({"x": x}, b"%d" % x)
    net.run(1)
    for n in (1, 2):
        alice.send(DurableRemove(n, f"s{n}"))
    net.run(1)
    assert [each.messages for each in answers(alice, DurableRemoved)] == [4, 4]
    assert [each.content[-1:] for each in content(net).entries.values()] == [b"2", b"2"]
    restart(net)
    bob = subscribe(net, 3, "", is_away=False)
    assert [(each.offset, each.payload) for each in bob.stored] == [(1, b"2"), (2, b"2")]


def test_a_message_that_nobody_acknowledges_does_not_keep_those_behind_it():
    net, alice = lab(0)
    subscribe(net, 1, "y = 1")
    bob = subscribe(net, 2, "x > 0", is_away=False, window=100)
    alice.publish({"x": 1, "y": 1}, b"kept")
    for n in range(30):
        publish(net, alice, [b"%d" % (n * 100 + each) for each in range(100)])
    net.run(1)
    assert len(bob.stored) == 3_001
    assert len(content(net).entries) <= 2
    restart(net)
    publish(net, alice, [b"next"])
    bob.reconnect()
    net.run(1)
    assert (bob.stored[-1].offset, bob.stored[-1].payload) == (3_002, b"next")
    assert [*net.disks["a"].entries(1)] == [1]


def test_a_message_that_one_subscription_has_not_read_keeps_little_of_what_it_has():
    """Its offsets are counted from behind what it has acknowledged, so these messages are not needed."""
    net, alice = lab(0)
    bob = subscribe(net, 1, is_away=False, window=100, ack_wait=1_000)
    bob.acknowledges = lambda message: message.payload != b"first"
    publish(net, alice, [b"first"])
    for n in range(20):
        publish(net, alice, [b"%d" % (n * 100 + each) for each in range(100)])
    assert len(content(net).entries) <= 2
    bob.disconnect()
    restart(net)
    bob.stored.clear()
    bob.reconnect()
    net.run(1)
    assert [(each.offset, each.payload) for each in bob.stored] == [(1, b"first")]
    publish(net, alice, [b"last"])
    assert bob.stored[-1].offset == 2_002


def test_sets_without_messages_are_removed(monkeypatch):
    monkeypatch.setattr(module, "_UNUSED_SETS", 2)
    net, alice = lab(0)
    clients = [subscribe(net, n, f"x > {n}", is_away=False) for n in range(1, 6)]
    for x in (2, 3, 4, 5, 6, 2):
        publish(net, alice, [b"%d" % x], x=x)
    assert [len(each.stored) for each in clients] == [6, 4, 3, 2, 1]
    assert sorted(content(net).state.sets.values()) == [(1,), (1, 2, 3, 4, 5)]
    restart(net)
    publish(net, alice, [b"4"], x=4)
    assert len(content(net).state.sets) <= 3


def test_a_set_that_is_used_again_and_again_is_saved_once():
    net, alice = lab(0)
    subscribe(net, 1, is_away=False)
    disk = net.disks["a"]
    submitted = []
    submit = disk.submit
    disk.submit = lambda operations: (submitted.extend(operations), submit(operations))
    for n in range(10):
        publish(net, alice, [b"%d" % n])
    assert [each for each in submitted if isinstance(each, SaveSet | DropSet)] == [SaveSet(1, (1,))]


# --- the past


def test_a_subscription_from_the_past_shares_the_messages_of_the_history():
    net, alice, bob = history_lab()
    publish(net, alice, numbers(20))
    before = {position: each.content for position, each in content(net).entries.items()}
    disk = net.disks["a"]
    submitted = []
    submit = disk.submit
    disk.submit = lambda operations: (submitted.extend(operations), submit(operations))
    bob.acknowledges = lambda _: False
    bob.subscribe_durable(1, "all", "x > 0", start=HistoryStart(offset=11), ack_wait=100)
    net.run(1)
    assert payloads(bob) == numbers(20)[10:]
    assert {position: each.content for position, each in content(net).entries.items()} == before
    assert len([each for each in submitted if isinstance(each, Assign)]) == 10
    assert sorted(content(net).state.sets.values()) == [(HISTORY_ID,), (HISTORY_ID, 1)]


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_the_history_drops_stays_for_a_subscription_from_the_past(is_killed):
    net, alice, bob = history_lab(history_messages=10)
    publish(net, alice, numbers(10))
    bob.subscribe_durable(1, "all", "x > 0", start=HistoryStart())
    bob.acknowledges = lambda _: False
    net.run(1)
    bob.disconnect()
    publish(net, alice, [b"%d" % n for n in range(10, 30)])
    if is_killed:
        restart(net)
    bob.stored.clear()
    bob.acknowledges = lambda _: True
    bob.reconnect()
    net.run(2)
    assert [(each.offset, each.payload) for each in bob.stored] == [(n + 1, b"%d" % n) for n in range(30)]


def test_the_number_of_a_removed_subscription_is_not_used_again_while_messages_name_it():
    net, alice, bob = history_lab()
    bob.subscribe_durable(1, "first", "x > 0")
    net.run(1)
    bob.disconnect()
    publish(net, alice, numbers(3))
    alice.send(DurableRemove(1, "first"))
    net.run(1)
    restart(net)
    bob.durable.clear()
    bob.reconnect()
    net.run(1)
    bob.subscribe_durable(1, "second", "x > 0 and y = 1", start=HistoryStart())  # matches none
    net.run(1)
    restart(net)
    publish(net, alice, [b"3"], y=1)
    assert [(each.offset, each.payload) for each in bob.stored] == [(1, b"3")]
