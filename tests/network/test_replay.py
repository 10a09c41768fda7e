"""Histories of routers between processes, over TCP, with SQLite: subscriptions that begin in the past."""

import json
import threading
import time
from datetime import timedelta

import pytest

from cbnet import connect
from cbnet.network import ProcessNetwork, Refused, Settings

QUICK = {"heartbeat": 0.5, "dead": 2.5, "retry": 0.5}


@pytest.fixture
def network(tmp_path):
    settings = [Settings("a", **QUICK), Settings("b", history="x >= 0", **QUICK)]
    with ProcessNetwork(settings, [("a", "b")], journals=tmp_path) as started:
        started.wait()
        yield started


def at(network, *names, **options):
    return connect([str(network.addresses[name]) for name in names], **options)


def take(subscription, count, timeout=60):
    received = []
    while len(received) < count and (delivery := subscription.get(timeout=timeout)) is not None:
        received.append(delivery)
    return received


def test_a_subscription_from_the_past_outlives_a_kill_of_the_router_under_load(network):
    total = 3_000
    with at(network, "a") as publisher, at(network, "b", "a") as subscriber:  # a keeps no history
        publisher.publish_durably([{"x": n} for n in range(1_000)], timeout=60)
        notices = []
        subscriber.on_event = lambda event: notices.append(event.text)
        subscription = subscriber.subscribe("x >= 0", since="first", queue=100)
        assert (subscription.history.first, subscription.history.next) == (1, 1_001)

        def load():
            for n in range(1_000, total, 50):
                publisher.publish_durably([{"x": n + each} for each in range(50)], timeout=60)

        loading = threading.Thread(target=load)
        loading.start()
        received = take(subscription, 500)
        network.kill("b")
        network.start("b")
        received += take(subscription, total - 500)
        loading.join()
        assert [each.message["x"] for each in received] == list(range(total))
        offsets = [each.offset for each in received]
        assert offsets == sorted(set(offsets))
        assert any("b was restarted: messages that were published meanwhile may be missing" in text for text in notices)
        history = subscriber.status().history
        assert (history.messages, history.next) == (total + 1, total + 2)  # and a note of the restart


def test_starts_in_the_past(network):
    with at(network, "a") as publisher, at(network, "b") as subscriber:
        publisher.publish_durably([{"x": n} for n in range(10)])
        between = time.monotonic()
        time.sleep(2.0)  # so much later the router may handle the subscription
        publisher.publish_durably([{"x": n} for n in range(10, 13)])
        recent = timedelta(seconds=time.monotonic() - between)
        for since, expected in ((recent, [10, 11, 12]), (8, [7, 8, 9, 10, 11, 12]), ("1h", range(13))):
            subscription = subscriber.subscribe("x >= 0", since=since)
            assert [each.message["x"] for each in take(subscription, len(expected))] == list(expected)
            subscription.unsubscribe()
        subscription = subscriber.subscribe("x > 10", since="first", durable="billing", wait=True)
        publisher.publish({"x": 13}, durable=True)
        received = take(subscription, 3)
        assert [(each.message["x"], each.offset) for each in received] == [(11, 1), (12, 2), (13, 3)]
        with pytest.raises(Refused, match="has only messages that match x >= 0"):
            subscriber.subscribe("y > 0", since="first")
        with pytest.raises(Refused, match="the history of b has no offset 99"):
            subscriber.subscribe("x > 0", since=99)
        with pytest.raises(Refused, match="router a keeps no history"):
            publisher.subscribe("x > 0", since="first")


def test_commands_begin_in_the_past(cbnet, network):
    home = ("--router", str(network.addresses["b"]))
    with at(network, "a") as publisher:
        publisher.publish_durably([{"x": n} for n in range(5)])
    assert cbnet("sub", "x >= 0", "--from", "first", "--count", "2", *home).out == "x = 0\nx = 1\n"
    outcome = cbnet("sub", "x > 0", "--from", "4", "--count", "2", "--json", *home)
    assert [(row["message"], row["offset"]) for row in map(json.loads, outcome.out.splitlines())] == [
        ({"x": 3}, 4), ({"x": 4}, 5),
    ]  # fmt: skip
    outcome = cbnet("sub", "x >= 0", "--from", "30d", "--count", "5", *home)
    assert outcome.out.count("\n") == 5
    assert "the history of b is complete for the last " in outcome.err
    outcome = cbnet("sub", "x >= 0", "--durable", "all", "--from", "2", "--count", "4", *home)
    assert outcome.out == "x = 1\nx = 2\nx = 3\nx = 4\n"
    assert "history of x >= 0: 5 messages" in cbnet("durable", "list", *home).err
    outcome = cbnet("sub", "y > 0", "--from", "first", *home)
    assert (outcome.code, "has only messages that match x >= 0" in outcome.err) == (1, True)
    outcome = cbnet("sub", "x > 0", "--from", "yesterday", *home)
    assert "invalid start 'yesterday'; use an offset, a time such as 90s, 15m, 1h or 2d, or first" in outcome.err


def test_options_of_a_router_set_a_history(cbnet, tmp_path):
    options = ("router", "--name", "a", "--history", "x > 0")
    outcome = cbnet(*options, "--check")
    assert (outcome.code, "`history` needs a journal" in outcome.err) == (2, True)
    outcome = cbnet(*options, "--journal", str(tmp_path), "--set", "history_age=60", "--print")
    assert 'history = "x > 0"  # option' in outcome.out
    assert "history_age = 60.0  # option" in outcome.out
