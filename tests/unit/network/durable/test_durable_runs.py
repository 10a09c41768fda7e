"""Runs of messages that are stored without an object for each frame: what is stored and answered is the same."""

from random import Random

import pytest
from support.durable_networks import DurableLab, answers
from support.memory_networks import hello

from cbnet.network.link.counters import Event
from cbnet.network.protocol.frames import (
    DurableLimits,
    DurablePublish,
    DurablePublished,
    DurablePublishedRun,
)
from cbnet.network.protocol.wire import FrameReader, encode


def run_frames(client):
    """Return the answers for runs that a client has received."""
    return [(each.first, each.messages, each.subscriptions) for each in answers(client, DurablePublishedRun)]


def publish(net, client, *attributes, timeout=30.0):
    """Publish messages in one piece; return their numbers."""
    numbers = client.publish_run(((each, b"") for each in attributes), timeout=timeout)
    net.run(1)
    return numbers


def lab(*subscriptions, links="a", is_fast=True, **options):
    """Return a network, a publisher and a subscriber at its router a."""
    net = DurableLab(links, is_fast=is_fast, **options)
    alice, bob = net.client("a"), net.client("a")
    for id, (predicate, limits) in enumerate(subscriptions, start=1):
        bob.subscribe_durable(id, f"s{id}", predicate, limits=limits)
    net.run(1)
    return net, alice, bob


def test_messages_in_a_row_get_one_answer():
    net, alice, bob = lab(("x > 0", None))
    publish(net, alice, *({"x": 1},) * 5)
    assert run_frames(alice) == [(1, 5, 1)]
    assert [each.number for each in bob.stored] == [1, 2, 3, 4, 5]


def test_an_answer_counts_the_subscriptions_of_each_message():
    net, alice, _ = lab(("x > 0", None), ("x > 1", None))
    publish(net, alice, {"x": 1}, {"x": 1}, {"x": 2}, {"x": 1})
    assert run_frames(alice) == [(1, 2, 1), (3, 1, 2), (4, 1, 1)]


def test_a_message_that_nothing_matches_is_answered_alone():
    net, alice, bob = lab(("x > 0", None))
    numbers = publish(net, alice, {"x": 1}, {"x": 0}, {"x": 2})
    assert [alice.receipts[number].subscriptions for number in numbers] == [1, 0, 1]
    assert [each.attributes["x"] for each in bob.stored] == [1, 2]


def test_messages_beyond_a_limit_are_refused_one_by_one():
    net, alice, bob = lab(("x > 0", DurableLimits(messages=3)))
    bob.acknowledges = lambda _: False
    numbers = publish(net, alice, *({"x": 1},) * 5)
    receipts = [alice.receipts[number] for number in numbers]
    assert [each.subscriptions for each in receipts] == [1, 1, 1, 0, 0]
    assert len(bob.stored) == 3


def test_a_message_that_is_sent_again_is_stored_once():
    net, alice, bob = lab(("x > 0", None))
    publish(net, alice, {"x": 1}, {"x": 1})
    frame = DurablePublish(alice.publisher.publisher, 2, 1, 5.0, {"x": 1}, [], b"again")
    alice.send(frame)
    net.run(1)
    assert [each.number for each in bob.stored] == [1, 2]


def test_a_client_of_version_4_gets_an_answer_for_each_message():
    net, _, bob = lab(("x > 0", None))
    host, out = net.memory.hosts["a"], []
    network = host.router.settings.network
    frames = [hello("client", "old", high=4, network=network, incarnation=0, link=0, scheme="")]
    frames += [DurablePublish(7, number, 1, 5.0, {"x": 1}, [], b"") for number in (1, 2)]
    perform = host.bytes.performed
    host.bytes.performed = lambda actions: [out.append(each) or each for each in perform(actions)]
    host.bytes.opened(99, net.memory.now)
    host.bytes.received(99, b"".join(map(encode, frames)), net.memory.now)
    net.run(1)
    answers = FrameReader().feed(b"".join(each.data for each in out if each.link == 99))
    assert [each.sequence for each in answers if isinstance(each, DurablePublished)] == [1, 2]
    assert [each.number for each in bob.stored] == [1, 2]


def test_a_publisher_is_answered_in_time_though_the_disk_does_not_answer():
    net, alice, _ = lab(("x > 0", None))
    net.disks["a"].delay = 60.0
    numbers = publish(net, alice, {"x": 1}, {"x": 1}, timeout=2.0)
    net.run(3)
    assert [alice.receipts[number].silent for number in numbers] == [["a"], ["a"]]


def outcome(seed, links, *, is_fast):
    """Return what publishers were told, and what subscriptions have, after random publishing."""
    random = Random(seed)
    limits = [None, None, DurableLimits(messages=20), DurableLimits(bytes=900, policy="drop oldest")]
    predicates = ["x > 0", "x > 2", 'x = 1 and y = "b"', "#t", "true"]
    net = DurableLab(links, is_fast=is_fast, history="x > 3" if seed % 3 == 0 else "")
    # With another seed only the last router has durable subscriptions.
    homes = [net.client(name) for name in (net.names if seed % 4 < 2 else net.names[-1:])]
    publishers = [net.client("a") for _ in range(2)]
    listener = net.client("a")
    if seed % 2:
        listener.subscribe(1, "x = 5")
    for bob in homes:
        bob.acknowledges = lambda _: False
        for id in range(1, 4):
            bob.subscribe_durable(id, f"{bob.name} {id}", random.choice(predicates), limits=random.choice(limits))
    net.run(2)
    for _ in range(12):
        alice = random.choice(publishers)
        for _ in range(random.choice([1, 3])):
            run = [{"x": random.randrange(6), "y": random.choice("ab")} for _ in range(random.choice([1, 3, 30]))]
            if random.random() < 0.1:
                run[-1]["x"] = [1, 5]
            alice.publish_run((each, b"." * random.randrange(50)) for each in run)
            alice.publish({"x": 5}, b"plain")
        net.run(0.5)  # messages of different publishers would arrive in another order
    net.run(5)
    receipts = [
        {number: (each.subscriptions, each.dropped, len(each.refused)) for number, each in alice.receipts.items()}
        for alice in publishers
    ]
    stored = {
        (name, id): [each[3:] for each in disk.entries(id).values()]
        for name, disk in net.disks.items()
        for id in range(4)
    }
    plain = sorted(each.payload for each in listener.deliveries)
    counters = net.memory.hosts["a"].router.counters
    return receipts, stored, plain, [counters[each] for each in (Event.DURABLE_PUBLISHED, Event.STORED)]


@pytest.mark.parametrize("links", ["a", "a-b", "a-b b-c"])
@pytest.mark.parametrize("seed", range(4))
def test_runs_store_and_answer_what_single_frames_do(seed, links):
    assert outcome(seed, links, is_fast=True) == outcome(seed, links, is_fast=False)


def far_home(limits=None):
    """Return a network a - b - c, a publisher at a, and a subscriber at c, the only home."""
    net = DurableLab("a-b b-c", is_fast=True)
    alice, carol = net.client("a"), net.client("c")
    carol.subscribe_durable(1, "s", "x > 0", limits=limits, wait=5.0)
    net.run(3)
    return net, alice, carol


def test_a_run_for_a_distant_home_travels_as_one_frame_and_gets_one_answer():
    net, alice, carol = far_home()
    publish(net, alice, *({"x": 1},) * 5)
    assert run_frames(alice) == [(1, 5, 1)]
    assert [each.number for each in carol.stored] == [1, 2, 3, 4, 5]
    assert net.memory.frames["PacketRun"] == 2  # over each of the two links
    assert not net.memory.frames["Packet"]


def test_a_run_whose_home_is_away_is_stored_once_when_it_returns():
    net, alice, carol = far_home()
    net.kill("c")
    numbers = publish(net, alice, *({"x": 1},) * 3, timeout=60.0)
    assert alice.receipts == {}
    net.start("c")
    net.run(20)
    assert [alice.receipts[number].subscriptions for number in numbers] == [1, 1, 1]
    assert [each.number for each in carol.stored] == numbers


def test_a_run_of_which_a_distant_home_refuses_a_part_is_answered_message_by_message():
    net, alice, carol = far_home(DurableLimits(messages=2))
    carol.acknowledges = lambda _: False
    numbers = publish(net, alice, *({"x": 1},) * 4)
    assert [alice.receipts[number].subscriptions for number in numbers] == [1, 1, 0, 0]
    assert ["full" in str(alice.receipts[number].refused) for number in numbers] == [False, False, True, True]


def test_a_message_that_follows_a_run_on_its_way_is_stored_after_it():
    net, alice, carol = far_home()
    alice.publish_run((({"x": 1}, b"") for _ in range(3)), timeout=30.0)
    alice.publish_durable({"x": [1, 2]}, timeout=30.0)  # of a kind that is handled alone
    net.run(3)
    assert [each.number for each in carol.stored] == [1, 2, 3, 4]
    assert {each.subscriptions for each in alice.receipts.values()} == {1}


def test_a_run_that_its_client_sends_again_is_stored_once():
    net, alice, carol = far_home()
    net.disks["c"].delay = 2.0
    numbers = publish(net, alice, *({"x": 1},) * 3)
    alice.send(*alice.publisher.frames(net.memory.now))
    net.run(5)
    assert [each.number for each in carol.stored] == numbers
    assert [alice.receipts[number].subscriptions for number in numbers] == [1, 1, 1]


def test_a_publisher_of_a_run_whose_home_stays_away_is_answered_in_time():
    net, alice, _ = far_home()
    net.kill("c")
    numbers = publish(net, alice, *({"x": 1},) * 3, timeout=3.0)
    net.run(5)
    assert [alice.receipts[number].silent for number in numbers] == [["c"]] * 3
