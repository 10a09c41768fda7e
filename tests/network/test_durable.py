"""Durable subscriptions and acknowledged publishing between processes, over TCP, with SQLite and PostgreSQL."""

import asyncio
import json
import threading

import pytest
from support.waiting import wait_until

from cbnet import connect, connect_async
from cbnet.errors import InputError
from cbnet.network import DurableLimits, NotStored, ProcessNetwork, Refused, Settings

QUICK = {"heartbeat": 0.5, "dead": 2.5, "retry": 0.5}


@pytest.fixture(params=["sqlite", "postgresql"])
def network(request, tmp_path):
    names = ["a", "b", "c"]
    settings = [Settings(name, **QUICK) for name in names]
    journals = tmp_path if request.param == "sqlite" else request.getfixturevalue("postgres").new_database()
    with ProcessNetwork(settings, [("a", "b"), ("b", "c")], journals=journals) as started:
        started.wait()
        yield started


def at(network, *names, **options):
    return connect([str(network.addresses[name]) for name in names], **options)


def test_messages_survive_the_absence_of_the_client_and_the_death_of_its_router(network):
    with at(network, "c") as consumer:
        consumer.subscribe("x > 0", durable="billing", wait=True)
    with at(network, "a") as publisher:
        receipt = publisher.publish({"x": 1}, b"first", durable=True)
        assert (receipt.subscriptions, receipt.is_stored) == (1, True)
        receipts = publisher.publish_durably([{"x": n} for n in range(200)], [b"%d" % n for n in range(200)])
        assert [each.subscriptions for each in receipts] == [0] + [1] * 199
        network.kill("c")
        with pytest.raises(NotStored, match="no answer from c") as raised:
            publisher.publish({"x": 1}, b"not stored", durable=True, timeout=1.0)
        assert raised.value.receipts[0].silent == ["c"]
        network.start("c")
        publisher.publish({"x": 1}, b"last", durable=True, timeout=60)
    with at(network, "c") as consumer:
        subscription = consumer.subscribe("", durable="billing")
        received = []
        while b"last" not in received:
            delivery = subscription.get(timeout=60)
            received.append(delivery.payload)
            delivery.acknowledge()
        expected = [b"first", *(b"%d" % n for n in range(1, 200)), b"last"]
        assert [each for each in received if each != b"not stored"] == expected
    with at(network, "c") as consumer:
        assert consumer.subscribe("", durable="billing").get(timeout=0.5) is None


def test_a_lost_journal_is_reported_and_its_subscriptions_are_created_again(tmp_path):
    settings = [Settings(name, **QUICK) for name in "abc"]
    with ProcessNetwork(settings, [("a", "b"), ("b", "c")], journals=tmp_path) as network:
        network.wait()
        with at(network, "c") as consumer:
            consumer.subscribe("x > 0", durable="billing", wait=True)
        with at(network, "a") as publisher:
            assert publisher.publish({"x": 1}, b"lost", durable=True).subscriptions == 1
            network.kill("c")
            (tmp_path / "c").rename(tmp_path / "old")
            network.start("c")
            assert publisher.publish({"x": 1}, b"kept", durable=True, timeout=60).subscriptions == 1
        lost = []
        with at(network, "c") as consumer:
            consumer.on_event = lost.append
            subscription = consumer.subscribe("", durable="billing")
            assert subscription.get(timeout=60).payload == b"kept"
        assert [(event.kind, event.messages) for event in lost] == [("lost", None)]
        assert "the journal of c is not the one that other routers know" in lost[0].text


def test_nothing_acknowledged_is_lost_while_routers_are_killed_under_load(network):
    with at(network, "c") as consumer:
        consumer.subscribe("x >= 0", durable="billing", wait=True)
    stored, failed, is_over = [], [], threading.Event()

    async def publish():
        async with await connect_async([str(network.addresses["a"])]) as publisher:
            numbers = iter(range(10**9))

            async def one_after_another():
                while not is_over.is_set():
                    n = next(numbers)
                    try:
                        await publisher.publish({"x": n}, durable=True, timeout=60)
                        stored.append(n)
                    except NotStored:
                        failed.append(n)

            await asyncio.gather(*(one_after_another() for _ in range(20)))

    load = threading.Thread(target=lambda: asyncio.run(publish()))
    load.start()
    try:
        for name in ("b", "c", "a", "c", ""):
            enough = len(stored) + 200
            wait_until(lambda enough=enough: len(stored) >= enough)
            if name:
                network.kill(name)
                network.start(name)
    finally:
        is_over.set()
        load.join()
    received, missing = [], {*stored}
    with at(network, "c") as consumer:
        subscription = consumer.subscribe("", durable="billing", ack_wait=600)
        while batch := subscription.take(timeout=60 if missing else 1.0):
            received += [delivery.message["x"] for delivery in batch]
            missing.difference_update(received)
            for delivery in batch:
                delivery.acknowledge()
    assert not missing
    assert len(received) == len(set(received))
    assert received == sorted(received)  # the order of publishing
    assert not set(received) - set(stored) - set(failed)


def test_a_client_finds_the_home_of_its_subscription_again(network):
    with at(network, "c", "b") as consumer, at(network, "a") as publisher:
        subscription = consumer.subscribe("x > 0", durable="billing", wait=True)
        network.kill("c")
        wait_until(lambda: consumer.router == "b")  # it looks elsewhere meanwhile
        network.start("c")
        publisher.publish({"x": 1}, b"0", durable=True, timeout=60)
        assert subscription.get(timeout=60).payload == b"0"
        assert consumer.router == "c"
    with at(network, "b") as elsewhere, pytest.raises(Refused, match=f"lives at router c, {network.addresses['c']}"):
        elsewhere.subscribe("", durable="billing")


def test_a_client_waits_for_its_home_at_another_router_and_goes_on_with_all_else_there(network):
    with at(network, "c", "b") as consumer, at(network, "a") as publisher:
        events = []
        consumer.on_event = events.append
        subscription = consumer.subscribe("x > 0", durable="billing", wait=True)
        plain = consumer.subscribe("x < 0", wait=True)
        assert subscription.waiting == ""
        network.kill("c")
        wait_until(lambda: any(each.kind == "waiting" for each in events))
        home = f"durable subscription 'billing' lives at router c, {network.addresses['c']}"
        assert subscription.waiting == f"{home}; connect there"
        (waiting,) = [each for each in events if each.kind == "waiting"]
        assert (waiting.router, waiting.text) == (
            "b", f"durable subscription billing waits for its home: {home}; connect there"
        )  # fmt: skip
        connections = consumer.reconnects

        def arrives():
            publisher.publish({"x": -1})
            return plain.get(timeout=0.2) is not None

        wait_until(arrives)
        assert (consumer.reconnects, consumer.router) == (connections, "b")
        network.start("c")
        publisher.publish({"x": 1}, b"0", durable=True, timeout=60)
        assert subscription.get(timeout=60).payload == b"0"
        assert (consumer.router, subscription.waiting) == ("c", "")
        wait_until(lambda: any(each.kind == "resumed" for each in events))
        assert [each.kind for each in events].count("waiting") == 1


def test_a_client_that_waits_asks_its_router_again_which_may_be_the_home_by_now(network):
    with at(network, "c", "b") as consumer, at(network, "a") as publisher:
        events = []
        consumer.on_event = events.append
        subscription = consumer.subscribe("x > 0", durable="billing", wait=True)
        network.kill("c")
        wait_until(lambda: any(each.kind == "waiting" for each in events))
        connections = consumer.reconnects
        publisher.forget_home("c")  # now the next router that is asked creates the subscription
        wait_until(lambda: not subscription.waiting)
        assert (consumer.router, consumer.reconnects) == ("b", connections)
        # the router of the publisher may not know the new home yet
        wait_until(lambda: publisher.publish({"x": 1}, b"0", durable=True, timeout=60).subscriptions == 1)
        assert subscription.get(timeout=60).payload == b"0"
        (resumed,) = [each for each in events if each.kind == "resumed"]
        assert resumed.text.startswith("durable subscription billing goes on at b after ")


def test_a_subscription_that_waits_for_its_home_can_end(network):
    with at(network, "c", "b") as consumer:
        subscription = consumer.subscribe("x > 0", durable="billing", wait=True)
        network.kill("c")
        wait_until(lambda: subscription.waiting)
        subscription.unsubscribe()
        assert list(subscription) == []
        network.start("c")


def test_limits_are_reported_to_both_sides(network):
    with at(network, "c") as consumer, at(network, "a") as publisher:
        limits = DurableLimits(messages=2)
        subscription = consumer.subscribe("x > 0", durable="billing", wait=True, limits=limits)
        publisher.publish({"x": 1}, durable=True)
        publisher.publish({"x": 1}, durable=True)
        with pytest.raises(NotStored, match="c: durable subscription billing is full: 2 messages"):
            publisher.publish({"x": 1}, durable=True)
        publisher.publish({"x": 1})
        wait_until(lambda: subscription.lost)
        assert subscription.lost == 1
        (status,) = consumer.durable_subscriptions().subscriptions
        assert (status.name, status.messages, status.lost, status.clients) == ("billing", 2, 1, 1)
        consumer.remove_durable("billing")
        assert publisher.publish({"x": 1}, durable=True).subscriptions == 0
        with pytest.raises(Refused, match="was removed"):
            list(subscription)


def test_limits_change_by_a_command_of_their_own(cbnet, network):
    with at(network, "c") as consumer, at(network, "c") as other, at(network, "a") as publisher:
        subscription = consumer.subscribe("x > 0", durable="billing", wait=True, limits=DurableLimits(messages=1))
        with pytest.raises(Refused, match=r"has other limits: 1 message \(refuse\), not 3 messages \(refuse\); leave"):
            other.subscribe("", durable="billing", limits=DurableLimits(messages=3))
        assert other.limit_durable("billing", messages=2) == DurableLimits(messages=2)
        home = ("--router", str(network.addresses["c"]))
        outcome = cbnet("durable", "limit", "billing", "--max-age", "60", "--drop-oldest", *home)
        assert (outcome.code, outcome.err) == (0, "billing at c: 2 messages, 60 s (drop oldest)\n")
        assert cbnet("durable", "limit", "billing", "--max-messages", "0", "--max-age", "0", "--refuse", *home).err == (
            "billing at c: no limits\n"
        )
        outcome = cbnet("durable", "limit", "billing", *home)
        assert (outcome.code, outcome.err.startswith("error: no limit to change; give --max-messages")) == (2, True)
        for command in (("limit", "billing", "--max-messages", "1"), ("remove", "billing")):
            outcome = cbnet("durable", *command, "--router", str(network.addresses["a"]))
            where = f"lives at router c, {network.addresses['c']}; connect there"
            assert (outcome.code, outcome.err) == (1, f"error: durable subscription 'billing' {where}\n")
        with pytest.raises(InputError, match="invalid limit messages=-1"):
            other.limit_durable("billing", messages=-1)
        outcome = cbnet("sub", "--durable", "billing", "--when-full", "disconnect", *home)
        assert (outcome.code, "a durable subscription cannot have the policy 'disconnect'" in outcome.err) == (2, True)
        network.kill("c")  # the client restores a subscription with limits that have changed
        network.start("c")
        publisher.publish({"x": 1}, b"0", durable=True, timeout=60)
        assert subscription.get(timeout=60).payload == b"0"


def test_what_was_dropped_is_reported_after_a_crash(network):
    with at(network, "c") as consumer, at(network, "a") as publisher:
        limits = DurableLimits(messages=2, policy="drop oldest")
        consumer.subscribe("x > 0", durable="billing", wait=True, limits=limits).unsubscribe()
        for n in range(1, 6):
            assert publisher.publish({"x": n}, durable=True).subscriptions == 1
        network.kill("c")
        network.start("c")
    with at(network, "c") as consumer:
        subscription = consumer.subscribe("", durable="billing")
        assert subscription.get(timeout=60).message == {"x": 4}
        assert subscription.lost == 3
    with at(network, "c") as consumer:
        assert consumer.durable_subscriptions().subscriptions[0].lost == 3


def test_commands_keep_messages_between_runs(cbnet, network):
    home = ("--router", str(network.addresses["c"]))
    with at(network, "c") as consumer:
        consumer.subscribe("price > 0", durable="billing", wait=True)
    other = ("--router", str(network.addresses["a"]))
    outcome = cbnet("pub", "price=1", "--count", "3", "--durable", *other)
    assert (outcome.code, outcome.err) == (0, "published 3 messages at a; stored by 1 durable subscription\n")
    assert cbnet("pub", "price=0", "--durable", *other).err.endswith("; no durable subscription matches\n")
    listed = [json.loads(line) for line in cbnet("durable", "list", "--json", *home).out.splitlines()]
    (row,) = [each for each in listed if "predicate" in each]
    (journal,) = [each for each in listed if "journal" in each]
    assert (journal["home"], journal["journal"]["state"]) == ("c", "writable")
    assert (row["name"], row["predicate"], row["messages"], row["next"]) == ("billing", "price > 0", 3, 4)
    assert "other routers with durable subscriptions: c (1)" in cbnet("durable", "list", *other).err
    outcome = cbnet("sub", "--durable", "billing", "--count", "2", "--json", *home)
    assert outcome.err == "durable subscription billing at c\n"
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(each["message"], each["offset"], each["deliveries"]) for each in rows] == [
        ({"price": 1}, 1, 1), ({"price": 1}, 2, 1),
    ]  # fmt: skip
    outcome = cbnet("sub", "--durable", "billing", "--count", "1", "--wait", *home)
    assert outcome.out == "price = 1\n"
    assert outcome.err == "durable subscription billing at c; confirmed for 3 routers\n"
    cbnet("durable", "limit", "billing", "--max-messages", "1", *home)
    problem = "not stored by all durable subscriptions: c: durable subscription billing is full: 1 messages, 12 bytes"
    outcome = cbnet("pub", "price=1", "--durable", "--count", "2", "--rate", "1000", *other)
    assert (outcome.code, outcome.err) == (1, f"error: the message is {problem} (1 message stored before)\n")
    assert cbnet("pub", "price=1", "--durable", *other).err == f"error: the message is {problem}\n"
    cbnet("durable", "limit", "billing", "--drop-oldest", *home)
    cbnet("pub", "price=2", "--durable", *other)
    outcome = cbnet("sub", "--durable", "billing", "--count", "1", *home)
    assert (outcome.out, outcome.err.count("dropped")) == ("price = 2\n", 1)
    outcome = cbnet("durable", "remove", "billing", "--confirm", "billing", *home)
    assert outcome.err == "removed billing at c, with 0 unacknowledged messages\n"
    outcome = cbnet("durable", "remove", "billing", *home)
    assert (outcome.code, outcome.err) == (1, "error: there is no durable subscription 'billing' at router c\n")
    network.kill("c")
    outcome = cbnet("durable", "forget", "c", *other)
    assert (outcome.code, outcome.err) == (1, "error: no router 'c' with durable subscriptions is known\n")
