"""Networks of router processes over TCP behave as networks in memory do."""

import asyncio
import os
import time

import psutil
import pytest
from support.certificates import Authority
from support.waiting import wait_until

from cbnet import InputError, connect, connect_async
from cbnet.network import NotConnected, ProcessNetwork, Refused, Settings
from cbnet.network.security.tokens import new_token
from cbnet.network.transport.event_loop import run
from cbnet.topology import topology

NAMES = [str(n) for n in range(6)]
PREDICATES = ["x < 3", "x >= 3", "x = 1 or #a", "#a and y > 1", 's ^= "ab"', "true"]
MESSAGES = [{"x": 1}, {"x": 5, "#": ["a"]}, {"y": 2, "#": ["a", "b"]}, {"s": "abc", "x": 2}, {}, {"x": 3.5, "s": "ba"}]


@pytest.fixture(scope="module")
def network():
    with ProcessNetwork.of(topology("random:6", seed=3)) as started:
        started.wait()
        yield started


def at(network, name):
    return str(network.addresses[name])


def taken(subscription, count):
    """Return the payloads of `count` messages, and check that no more arrive."""
    payloads = []
    while len(payloads) < count and (delivery := subscription.get(timeout=60)) is not None:
        payloads.append(delivery.payload)
    assert subscription.get(timeout=0.2) is None
    return payloads


def test_subscribers_receive_exactly_the_messages_that_match_their_predicates(network):
    from cbnet import Message, parse

    clients = {name: connect(at(network, name)) for name in NAMES}
    try:
        subscriptions = {
            name: clients[name].subscribe(text, wait=True) for name, text in zip(NAMES, PREDICATES, strict=True)
        }
        assert all(each.confirmation == (True, len(NAMES), []) for each in subscriptions.values())
        published = {}
        for name, client in clients.items():
            for number, message in enumerate(MESSAGES):
                payload = f"{name}:{number}".encode()
                published[payload] = message
                client.publish(message, payload)
        for name, text in zip(NAMES, PREDICATES, strict=True):
            predicate = parse(text)
            expected = {payload for payload, each in published.items() if predicate.matches(Message.from_dict(each))}
            payloads = taken(subscriptions[name], len(expected))
            assert len(payloads) == len(set(payloads))
            assert set(payloads) == expected
    finally:
        for client in clients.values():
            client.close()


def test_delivery_equals_the_published_message(network):
    with connect(at(network, "0")) as publisher, connect(at(network, "5")) as subscriber:
        subscription = subscriber.subscribe("#t", wait=True)
        publisher.publish({"i": 1, "f": 2.0, "s": "é", "b": True, "#": ["t"]}, b"\0\xff", wait=True)
        delivery = subscription.get(timeout=60)
    assert delivery.message == {"i": 1, "f": 2.0, "s": "é", "b": True, "#": ["t"]}
    assert type(delivery.message["b"]) is bool
    assert (delivery.payload, delivery.source, delivery.id[0]) == (b"\0\xff", "0", "0")


def test_ended_subscription_receives_nothing(network):
    with connect(at(network, "1")) as publisher, connect(at(network, "2")) as subscriber:
        ended, active = subscriber.subscribe("x = 7"), subscriber.subscribe("x = 7", wait=True)
        ended.unsubscribe()
        publisher.publish({"x": 7}, b"m")
        assert active.get(timeout=60).payload == b"m"
        assert list(ended) == []


def test_asyncio_client_publishes_and_subscribes(network):
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


def test_close_sends_messages_published_without_wait(network):
    with connect(at(network, "5")) as subscriber:
        subscription = subscriber.subscribe("x >= 0", wait=True, queue=10_000)
        with connect(at(network, "0")) as publisher:
            for x in range(3_000):
                publisher.publish({"x": x}, b"m" * 50)
        assert [subscription.get(timeout=60).message["x"] for _ in range(3_000)] == list(range(3_000))


def test_nested_messages_arrive_as_they_were_sent(network):
    event = {"name": "lamp", "detail": {"state": "on", "watts": [5, 7.5], "owner": None}, "#": ["t"]}
    with connect(at(network, "5")) as subscriber, connect(at(network, "0")) as publisher:
        wanted = subscriber.subscribe('detail.state in ("on", "off") and not (name ^= "x") and #t', wait=True)
        publisher.publish({**event, "name": "xerox"})
        publisher.publish(event, b"payload")
        delivery = wanted.get(timeout=60)
    assert (delivery.message, delivery.payload) == (event, b"payload")


def test_invalid_arguments_are_input_errors(network):
    with connect(at(network, "0")) as client:
        with pytest.raises(InputError, match="a value is missing"):
            client.subscribe("x <")
        with pytest.raises(InputError, match=r"x\.y: a bytes object is not a value"):
            client.publish({"x": {"y": b""}})
        with pytest.raises(InputError, match="unknown policy"):
            client.subscribe("x = 1", when_full="wait")
        with pytest.raises(InputError, match="at least 1"):
            client.subscribe("x = 1", queue=0)
        with pytest.raises(InputError, match="filters in the normal form"):
            client.subscribe(" or ".join(f"x = {n}" for n in range(1_001)))
        client.publish({"x": 1}, wait=True)  # the client still works


def test_unreachable_router_is_an_error():
    with pytest.raises(NotConnected, match=r"no router reachable at 127.0.0.1:1 within 0.3 s: "):
        connect("127.0.0.1:1", timeout=0.3)
    with pytest.raises(InputError, match="is not an address"):
        connect("nowhere")


def test_addresses_where_nobody_listens_are_reported_soon():
    started = time.monotonic()
    with pytest.raises(NotConnected, match=r"no router listens on 127.0.0.1:1, 127.0.0.1:2"):
        connect("127.0.0.1:1,127.0.0.1:2", timeout=60)
    assert time.monotonic() - started < 15


def test_client_of_another_network_is_an_error(network):
    with pytest.raises(InputError, match="is a router of the network 'cbnet'"):
        connect(at(network, "0"), network="other")


def test_client_uses_the_first_router_that_answers(network):
    with connect(["127.0.0.1:1", at(network, "4")]) as client:
        assert client.router == "4"
        assert client.status().router == "4"


def test_trace_shows_every_router_on_the_path(network):
    with connect(at(network, "0")) as asking, connect(at(network, "5")) as subscriber:
        subscription = subscriber.subscribe("k = 1", wait=True)
        dry = asking.trace({"k": 1}, is_dry=True)
        assert subscription.get(timeout=0.2) is None
        real = asking.trace({"k": 1}, b"p")
        assert subscription.get(timeout=60).payload == b"p"
    assert (dry.missing, real.missing) == ([], [])
    assert [hop.router for hop in dry.hops] == [hop.router for hop in real.hops]
    assert dry.hops[0].router == "0"
    assert any(hop.router == "5" and "k = 1" in hop.delivered[0] for hop in dry.hops)


def test_killed_router_is_routed_around_and_comes_back():
    links = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    with ProcessNetwork([Settings(name) for name in "abcd"], links) as ring:
        ring.wait()
        with connect(str(ring.addresses["a"])) as publisher, connect(str(ring.addresses["c"])) as subscriber:
            subscription = subscriber.subscribe("x = 1", wait=True)
            publisher.publish({"x": 1}, b"before")
            assert subscription.get(timeout=60).payload == b"before"
            assert ring.kill("b") < 0
            ring.wait()
            publisher.publish({"x": 1}, b"without b")
            assert subscription.get(timeout=60).payload == b"without b"
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
            got = [each.get(timeout=60).payload for each in (subscription, alone, whole)]
            assert got == [b"1", b"2", b"3"]


def test_client_restores_its_subscriptions_when_its_router_restarts():
    with ProcessNetwork([Settings("a"), Settings("b")], [("a", "b")]) as pair:
        pair.wait()
        with connect(str(pair.addresses["a"])) as publisher, connect(str(pair.addresses["b"])) as subscriber:
            subscription = subscriber.subscribe("x = 1", wait=True)
            pair.kill("b")
            wait_until(lambda: not subscriber.is_connected)
            with pytest.raises(NotConnected, match="no router reachable"):
                subscriber.publish({"x": 1}, wait=True, timeout=0.2)
            pair.start("b")
            assert subscriber.subscribe("y = 1", wait=True, timeout=60).confirmation.routers >= 1
            pair.wait()
            assert subscriber.subscribe("z = 1", wait=True).confirmation.routers == 2
            publisher.publish({"x": 1}, b"again")
            assert subscription.get(timeout=60).payload == b"again"
            assert subscriber.reconnects >= 1


def test_client_moves_to_another_router_of_its_list():
    with ProcessNetwork([Settings("a"), Settings("b")], [("a", "b")]) as pair:
        pair.wait()
        both = [str(pair.addresses[name]) for name in "ab"]
        with connect(both) as subscriber, connect(both[1]) as publisher:
            subscription = subscriber.subscribe("x = 1", wait=True)
            assert subscriber.router == "a"
            pair.kill("a")
            wait_until(lambda: subscriber.status().router == "b")
            publisher.publish({"x": 1}, b"here")
            assert subscription.get(timeout=60).payload == b"here"


def test_routers_end_with_their_context():
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
        wait_until(lambda: not psutil.pid_exists(pid))


def test_two_clients_in_one_event_loop_are_separate(network):
    async def main():
        async with await connect_async(at(network, "0"), name="one") as one:
            async with await connect_async(at(network, "0"), name="two"):
                status = await one.status()
            names = {peer.name for peer in status.peers if peer.role == "client"}
            await asyncio.sleep(0)
            return names

    assert run(main()) >= {"one", "two"}


def test_routers_have_tls_and_accounts_if_a_policy_is_given(tmp_path):
    ours, token = Authority(tmp_path, "ours"), new_token("ticker")
    files = {"certificate": str(ours.issue("127.0.0.1", "a", "b")), "authority": str(ours.file)}
    accounts = {"ticker": {"token": token.hash, "publish": "x > 1", "subscribe": "true", "watch": True}}
    policy = {**files, "routers": ["a", "b"], "clients": accounts}
    with ProcessNetwork([Settings("a"), Settings("b")], [("a", "b")], security={"a": policy, "b": policy}) as network:
        network.wait(tls=ours.tls(), token=token.token)
        with pytest.raises(Refused, match="a token is required"):
            connect(at(network, "a"), tls=ours.tls())
        with (
            connect(at(network, "a"), tls=ours.tls(), token=token.token) as publisher,
            connect(at(network, "b"), tls=ours.tls(), token=token.token) as subscriber,
        ):
            subscription = subscriber.subscribe("true", wait=True)
            with pytest.raises(Refused, match="you may only publish `x > 1`"):
                publisher.publish({"x": 1}, wait=True)
            publisher.publish({"x": 2}, b"two", wait=True)
            assert taken(subscription, 1) == [b"two"]
