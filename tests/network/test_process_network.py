"""Routers in processes of their own, over TCP: what holds in memory holds here."""

import asyncio
import os
import time

import pytest

from cbnet import InputError, connect, connect_async
from cbnet.network import NotConnected, ProcessNetwork, Refused, Settings
from cbnet.network.transport.event_loop import run
from cbnet.topology import topology

NAMES = [str(n) for n in range(6)]
WANTS = ["x < 3", "x >= 3", "x = 1 or #a", "#a and y > 1", 's ^= "ab"', "true"]
MESSAGES = [{"x": 1}, {"x": 5, "#": ["a"]}, {"y": 2, "#": ["a", "b"]}, {"s": "abc", "x": 2}, {}, {"x": 3.5, "s": "ba"}]


@pytest.fixture(scope="module")
def network():
    with ProcessNetwork.of(topology("random:6", seed=3)) as started:
        started.wait()
        yield started


def at(network, name):
    return str(network.addresses[name])


def taken(subscription, count):
    """Return the payloads of so many messages, and see that no more come."""
    payloads = []
    while len(payloads) < count and (delivery := subscription.get(timeout=10)) is not None:
        payloads.append(delivery.payload)
    assert subscription.get(timeout=0.2) is None
    return payloads


def test_every_subscriber_gets_exactly_what_its_predicate_matches_wherever_it_is_published(network):
    from cbnet import Message, parse

    clients = {name: connect(at(network, name)) for name in NAMES}
    try:
        subscriptions = {
            name: clients[name].subscribe(want, wait=True) for name, want in zip(NAMES, WANTS, strict=True)
        }
        assert all(each.confirmation == (True, len(NAMES), []) for each in subscriptions.values())
        published = {}
        for name, client in clients.items():
            for number, message in enumerate(MESSAGES):
                payload = f"{name}:{number}".encode()
                published[payload] = message
                client.publish(message, payload)
        for name, want in zip(NAMES, WANTS, strict=True):
            predicate = parse(want)
            expected = {payload for payload, said in published.items() if predicate.matches(Message.from_dict(said))}
            payloads = taken(subscriptions[name], len(expected))
            assert len(payloads) == len(set(payloads))
            assert set(payloads) == expected
    finally:
        for client in clients.values():
            client.close()


def test_a_delivery_is_the_message_that_was_published(network):
    with connect(at(network, "0")) as publisher, connect(at(network, "5")) as subscriber:
        subscription = subscriber.subscribe("#t", wait=True)
        publisher.publish({"i": 1, "f": 2.0, "s": "é", "b": True, "#": ["t"]}, b"\0\xff", wait=True)
        delivery = subscription.get(timeout=10)
    assert delivery.message == {"i": 1, "f": 2.0, "s": "é", "b": True, "#": ["t"]}
    assert type(delivery.message["b"]) is bool
    assert (delivery.payload, delivery.source, delivery.id[0]) == (b"\0\xff", "0", "0")


def test_a_subscription_that_was_ended_gets_nothing_more(network):
    with connect(at(network, "1")) as publisher, connect(at(network, "2")) as subscriber:
        gone, stays = subscriber.subscribe("x = 7"), subscriber.subscribe("x = 7", wait=True)
        gone.unsubscribe()
        publisher.publish({"x": 7}, b"m")
        assert stays.get(timeout=10).payload == b"m"
        assert list(gone) == []


def test_the_same_with_asyncio(network):
    async def main():
        async with await connect_async(at(network, "3")) as publisher, await connect_async(at(network, "4")) as other:
            subscription = await other.subscribe("x > 1", wait=True)
            assert subscription.confirmation.is_confirmed
            for x in range(5):
                await publisher.publish({"x": x}, str(x).encode())
            got = []
            async for delivery in subscription:
                got.append(delivery.message["x"])
                if len(got) == 3:
                    await subscription.unsubscribe()
            return got

    assert run(main()) == [2, 3, 4]


def test_what_is_published_without_waiting_is_there_after_the_client_is_closed(network):
    with connect(at(network, "5")) as subscriber:
        subscription = subscriber.subscribe("x >= 0", wait=True, queue=10_000)
        with connect(at(network, "0")) as publisher:
            for x in range(3_000):
                publisher.publish({"x": x}, b"m" * 50)
        assert [subscription.get(timeout=10).message["x"] for _ in range(3_000)] == list(range(3_000))


def test_mistakes_are_told_where_they_are_made(network):
    with connect(at(network, "0")) as client:
        with pytest.raises(InputError, match="a value is missing"):
            client.subscribe("x <")
        with pytest.raises(InputError, match="null is not a value"):
            client.publish({"x": None})
        with pytest.raises(InputError, match="unknown policy"):
            client.subscribe("x = 1", when_full="wait")
        with pytest.raises(InputError, match="at least 1"):
            client.subscribe("x = 1", queue=0)
        with pytest.raises(Refused, match="filters in the normal form"):
            client.subscribe(" or ".join(f"x = {n}" for n in range(1_001)))
        client.publish({"x": 1}, wait=True)  # and all goes on


def test_a_client_says_what_it_cannot_reach():
    with pytest.raises(NotConnected, match=r"no router could be reached at 127.0.0.1:1 in 0.3 s: "):
        connect("127.0.0.1:1", timeout=0.3)
    with pytest.raises(InputError, match="is not an address"):
        connect("nowhere")


def test_a_client_of_another_network_is_told_so(network):
    with pytest.raises(InputError, match="is a router of the network 'cbnet'"):
        connect(at(network, "0"), network="other")


def test_a_client_takes_the_first_router_that_answers(network):
    with connect(["127.0.0.1:1", at(network, "4")]) as client:
        assert client.router == "4"
        assert client.status().router == "4"


def test_a_trace_shows_every_router_that_the_message_passes(network):
    with connect(at(network, "0")) as asking, connect(at(network, "5")) as subscriber:
        subscription = subscriber.subscribe("k = 1", wait=True)
        dry = asking.trace({"k": 1}, is_dry=True)
        assert subscription.get(timeout=0.2) is None
        real = asking.trace({"k": 1}, b"p")
        assert subscription.get(timeout=10).payload == b"p"
    assert (dry.missing, real.missing) == ([], [])
    assert [hop.router for hop in dry.hops] == [hop.router for hop in real.hops]
    assert dry.hops[0].router == "0"
    assert any(hop.router == "5" and "k = 1" in hop.delivered[0] for hop in dry.hops)


def test_one_router_that_is_killed_is_left_out_and_comes_back():
    links = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    with ProcessNetwork([Settings(name) for name in "abcd"], links) as ring:
        ring.wait()
        with connect(str(ring.addresses["a"])) as publisher, connect(str(ring.addresses["c"])) as subscriber:
            subscription = subscriber.subscribe("x = 1", wait=True)
            publisher.publish({"x": 1}, b"before")
            assert subscription.get(timeout=10).payload == b"before"
            assert ring.kill("b") < 0
            ring.wait()
            publisher.publish({"x": 1}, b"without b")
            assert subscription.get(timeout=10).payload == b"without b"
            ring.kill("d")
            ring.wait()  # a and c are apart
            alone = subscriber.subscribe("x = 2", wait=True)
            assert alone.confirmation == (True, 1, ["a", "b", "d"])
            ring.start("b", "d")
            ring.wait()
            whole = subscriber.subscribe("x = 3", wait=True)
            assert whole.confirmation == (True, 4, [])
            for x in (1, 2, 3):
                publisher.publish({"x": x}, b"%d" % x)
            got = [each.get(timeout=10).payload for each in (subscription, alone, whole)]
            assert got == [b"1", b"2", b"3"]


def test_a_client_comes_back_with_its_subscriptions_when_its_router_does():
    with ProcessNetwork([Settings("a"), Settings("b")], [("a", "b")]) as pair:
        pair.wait()
        with connect(str(pair.addresses["a"])) as publisher, connect(str(pair.addresses["b"])) as subscriber:
            subscription = subscriber.subscribe("x = 1", wait=True)
            pair.kill("b")
            deadline = time.monotonic() + 10
            while subscriber.is_connected and time.monotonic() < deadline:
                time.sleep(0.01)
            with pytest.raises(NotConnected, match="no router could be reached"):
                subscriber.publish({"x": 1}, wait=True, timeout=0.2)
            pair.start("b")
            assert subscriber.subscribe("y = 1", wait=True, timeout=20).confirmation.routers >= 1
            pair.wait()
            assert subscriber.subscribe("z = 1", wait=True).confirmation.routers == 2
            publisher.publish({"x": 1}, b"again")
            assert subscription.get(timeout=10).payload == b"again"
            assert subscriber.reconnects >= 1


def test_a_client_goes_to_another_router_of_its_list():
    with ProcessNetwork([Settings("a"), Settings("b")], [("a", "b")]) as pair:
        pair.wait()
        both = [str(pair.addresses[name]) for name in "ab"]
        with connect(both) as subscriber, connect(both[1]) as publisher:
            subscription = subscriber.subscribe("x = 1", wait=True)
            assert subscriber.router == "a"
            pair.kill("a")
            while subscriber.status().router != "b":
                time.sleep(0.05)
            publisher.publish({"x": 1}, b"here")
            assert subscription.get(timeout=10).payload == b"here"


def test_routers_end_with_the_process_that_started_them():
    started = ProcessNetwork([Settings("a"), Settings("b")], [("a", "b")])
    with started:
        pids = list(started.pids.values())
        assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_routers_end_when_their_launcher_is_killed():
    started = ProcessNetwork([Settings("a")], [])
    with started:
        (pid,) = started.pids.values()
        started._launcher.kill()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.02)
        else:
            raise AssertionError("it still runs")


def test_two_clients_in_one_loop_are_two(network):
    async def main():
        async with await connect_async(at(network, "0"), name="one") as one:
            async with await connect_async(at(network, "0"), name="two"):
                status = await one.status()
            names = {peer.name for peer in status.peers if peer.role == "client"}
            await asyncio.sleep(0)
            return names

    assert run(main()) >= {"one", "two"}
