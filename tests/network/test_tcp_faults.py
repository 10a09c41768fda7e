"""Half-open connections, hostile bytes and random faults, with router processes over TCP."""

import random
import signal
import socket
import time
from contextlib import ExitStack

import psutil
import pytest
from support.packets import packet
from support.waiting import wait_until

from cbnet import Message, connect, parse
from cbnet.network import NotConfirmed, NotConnected, ProcessNetwork, Settings
from cbnet.network.protocol.frames import Close, Hello, LinkRecord, Ping, Publish, Subscribe
from cbnet.network.protocol.wire import FrameReader, encode

FAST_TIMERS = {"heartbeat": 0.5, "dead": 2.5}


@pytest.fixture(scope="module")
def pair():
    with ProcessNetwork([Settings("a", **FAST_TIMERS), Settings("b", **FAST_TIMERS)], [("a", "b")]) as started:
        started.wait()
        yield started


CLIENT = encode(Hello(low=5, high=5, role="client", name="evil", network="cbnet", incarnation=0, link=0, scheme=""))
ROUTER = encode(
    Hello(low=5, high=5, role="router", name="evil", network="cbnet", incarnation=0, link=1, scheme="multitree:1")
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "the peer uses HTTP, which is served at another address, the setting `http`",
        ),
        (b"\0\0\0\5hello", "invalid frame"),
        (encode(Ping(1)), "the first frame is Ping, not Hello"),
        (CLIENT + CLIENT, "a second Hello"),
        (CLIENT + encode(LinkRecord("a", 1, 9, 1, 0, {})), "a client must not send LinkRecord"),
        (CLIENT + b"\xff\xff\xff\xff", "frame of 4,294,967,295 bytes"),
        (CLIENT + b"\0\0\0\2\x91\xc1", "invalid frame"),
        (ROUTER + encode(Subscribe(1, "x = 1", 0)), "a router must not send Subscribe"),
        (
            ROUTER + encode(packet(source="evil", number=1, hops=0, attributes={"#": 1})),
            'invalid packet: the name "#" is reserved',
        ),
        (
            encode(
                Hello(
                    low=5, high=5, role="router", name="a", network="cbnet", incarnation=0, link=1, scheme="multitree:1"
                )
            ),
            "the name 'a' belongs to this router itself",
        ),
        (
            encode(
                Hello(low=5, high=5, role="router", name="evil", network="cbnet", incarnation=0, link=1, scheme="drp")
            ),
            "this network uses the routing scheme multitree:1",
        ),
        (
            encode(Hello(low=7, high=9, role="client", name="evil", network="cbnet", incarnation=0, link=0, scheme="")),
            "no common protocol version",
        ),
        (
            encode(Hello(low=5, high=5, role="client", name="evil", network="other", incarnation=0, link=0, scheme="")),
            "this is network 'cbnet'",
        ),
    ],
)
def test_hostile_bytes_close_only_their_own_connection_with_a_reason(pair, data, reason):
    with connect(str(pair.addresses["b"])) as subscriber, connect(str(pair.addresses["a"])) as publisher:
        subscription = subscriber.subscribe("x = 1", wait=True)
        with socket.create_connection(pair.addresses["a"], timeout=60) as evil:
            evil.sendall(data + encode(Publish(1, {"x": 1}, [], b"evil", False)))
            assert reason in closing(evil)
        publisher.publish({"x": 1}, b"good")
        assert subscription.get(timeout=60).payload == b"good"
        assert (subscriber.reconnects, publisher.reconnects) == (0, 0)


def closing(connection):
    """Return the reason that the peer closes with."""
    frames, reader = [], FrameReader()
    while data := connection.recv(1 << 16):
        frames += reader.feed(data)
    assert isinstance(frames[-1], Close)
    return frames[-1].reason


def test_silent_connection_is_closed(pair):
    with socket.create_connection(pair.addresses["a"], timeout=60) as silent:
        assert "no Hello received for 2.5 s" in closing(silent)


def test_stopped_router_is_routed_around_and_taken_back():
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    with ProcessNetwork([Settings(name, **FAST_TIMERS) for name in "abcd"], ring) as network:
        network.wait()
        with connect(str(network.addresses["a"])) as publisher, connect(str(network.addresses["c"])) as subscriber:
            subscription = subscriber.subscribe("x = 1", wait=True)
            network.signal("b", signal.SIGSTOP)
            wait_until(lambda: all("b" not in each.status().neighbours for each in (publisher, subscriber)))
            publisher.publish({"x": 1}, b"by d")
            assert subscription.get(timeout=60).payload == b"by d"
            missing = subscriber.subscribe("x = 2", wait=True).confirmation.missing
            assert missing == ["b"]
            network.signal("b", signal.SIGCONT)
            network.wait()
            assert subscriber.subscribe("x = 3", wait=True).confirmation == (True, 4, [])


def stop(network, name):
    """Stop a router, and wait until it does not run any more."""
    network.signal(name, signal.SIGSTOP)
    wait_until(lambda: psutil.Process(network.pids[name]).status() == psutil.STATUS_STOPPED)


def test_client_leaves_a_stopped_router():
    with ProcessNetwork([Settings("a", **FAST_TIMERS), Settings("b", **FAST_TIMERS)], [("a", "b")]) as pair:
        pair.wait()
        with connect([str(pair.addresses[name]) for name in "ab"]) as client:
            subscription = client.subscribe("x = 1", wait=True)
            pair.signal("a", signal.SIGSTOP)
            wait_until(lambda: client.router == "b", timeout=60)
            client.publish({"x": 1}, b"m", wait=True)
            assert subscription.get(timeout=60).payload == b"m"
            pair.signal("a", signal.SIGCONT)


def test_after_a_timeout_the_plain_client_holds_a_subscription_that_can_be_read():
    with ProcessNetwork([Settings(name, dead=30.0) for name in "ab"], [("a", "b")]) as pair:
        pair.wait()
        with connect(str(pair.addresses["a"])) as client:
            other = client.subscribe("y = 1", wait=True)
            stop(pair, "b")
            with pytest.raises(NotConfirmed, match="it stays active") as raised:
                client.subscribe("x = 1", wait=True, timeout=0.3, queue=1)
            with pytest.raises(NotConfirmed) as of_offer:
                client.offer("z = 1", lambda _: None, wait=True, timeout=0.3)
            pair.signal("b", signal.SIGCONT)
            for number in range(3):
                client.publish({"x": 1}, b"%d" % number)
            client.publish({"y": 1})
            kept = raised.value.subscription
            assert [kept.get(timeout=60).payload for _ in range(3)] == [b"0", b"1", b"2"]
            assert other.get(timeout=60).message == {"y": 1}
            kept.unsubscribe()
            of_offer.value.subscription.withdraw()
            assert (client.status().subscriptions, client.status().offers) == (1, 0)


def test_a_subscription_that_got_no_answer_does_not_stay_at_the_router():
    with ProcessNetwork([Settings("a")], []) as alone, connect(str(alone.addresses["a"])) as client:
        stop(alone, "a")
        with pytest.raises(NotConnected, match="no answer"):
            client.subscribe("x = 1", timeout=0.1)
        alone.signal("a", signal.SIGCONT)
        assert client.status().subscriptions == 0


PREDICATES = ["k = 0", "k = 1", "k < 2", "k > 1", "k != 1", "k = 1 and #a", "#a", 's ^= "x"', "true"]
MESSAGES = [{"k": 0}, {"k": 1}, {"k": 2}, {"k": 3, "s": "xyz", "#": ["a"]}, {"k": 1, "#": ["a", "b"]}, {"s": "x"}, {}]


@pytest.mark.parametrize(("seed", "scheme"), [(1, "multitree"), (2, "pif"), (3, "multitree")])
def test_after_random_faults_every_message_is_delivered_exactly_once(seed, scheme):
    chance = random.Random(seed)
    names = ["a", "b", "c", "d", "e"]
    links = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a"), ("b", "e")]
    with ExitStack() as stack:
        network = stack.enter_context(
            ProcessNetwork([Settings(name, scheme=scheme, **FAST_TIMERS) for name in names], links)
        )
        network.wait()
        clients = {name: stack.enter_context(connect(str(network.addresses[name]))) for name in names}
        subscriptions = {name: clients[name].subscribe(chance.choice(PREDICATES), queue=100_000) for name in names}
        published, got = {}, {name: [] for name in names}

        def publish(name, message):
            payload = f"{len(published)} from {name}".encode()
            published[payload] = message
            clients[name].publish(message, payload)
            return payload

        def receive():
            for name, subscription in subscriptions.items():
                while (delivery := subscription.get(timeout=0.01)) is not None:
                    got[name].append(delivery.payload)

        for _ in range(4):
            victim = chance.choice(names)
            fault = chance.choice(["kill", "stop", "freeze"])
            if fault == "freeze":
                network.signal(victim, signal.SIGSTOP)
            else:
                getattr(network, fault)(victim)
            for name in names:
                if clients[name].is_connected and name != victim:
                    publish(name, chance.choice(MESSAGES))
            time.sleep(chance.choice([0.0, 0.2, 2.8]))
            if fault == "freeze":
                network.signal(victim, signal.SIGCONT)
            else:
                network.start(victim)
        network.wait()
        for client in clients.values():  # confirms its earlier subscription too
            assert client.subscribe("never = 1", wait=True, timeout=60).confirmation == (True, len(names), [])
        last = [publish(name, message) for name in names for message in MESSAGES]
        deadline = time.monotonic() + 60
        expected = {
            name: {each for each in last if parse(subscription.predicate).matches(Message.from_dict(published[each]))}
            for name, subscription in subscriptions.items()
        }
        while time.monotonic() < deadline and any(not expected[name] <= set(got[name]) for name in names):
            receive()
        time.sleep(0.2)
        receive()
        for name, subscription in subscriptions.items():
            assert set(got[name]) & set(last) == expected[name]
            assert len(got[name]) == len(set(got[name]))
            predicate = parse(subscription.predicate)
            assert all(predicate.matches(Message.from_dict(published[payload])) for payload in got[name])
