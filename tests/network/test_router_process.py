"""A router process: its HTTP pages, its log, and its shutdown."""

import json
import signal
import socket
import threading
import time
from contextlib import ExitStack

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.router_processes import router_processes
from support.waiting import wait_until

from cbnet import connect
from cbnet.network import ProcessNetwork, Settings
from cbnet.network.service.reserved_ports import free_ports


@pytest.fixture(scope="module")
def pair():
    with router_processes("ab") as routers:
        wait_until_converged(routers)
        yield routers


def samples(router):
    """Return the value of each series, by name and labels."""
    status, headers, text = router.get("/metrics")
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def wait_until_converged(routers):
    """Wait until all routers are ready and know each other."""
    for router in routers.values():
        router.wait_until_ready()
        wait_until(lambda each=router: samples(each)["cbnet_reachable_routers",] == len(routers), timeout=60)


def over(name, interface, role="router"):
    return (name, ("interface", interface), ("role", role))


def growth(before, after, *key):
    return after.get(key, 0) - before.get(key, 0)


def test_counters_equal_the_messages_sent(pair):
    with connect(pair["a"].address) as publisher, connect(pair["b"].address) as subscriber:
        subscription = subscriber.subscribe("x >= 0", wait=True)
        before = {name: samples(router) for name, router in pair.items()}
        for x in range(-50, 300):
            publisher.publish({"x": x})
        for _ in range(300):
            assert subscription.get(timeout=60) is not None
        received, sent = "cbnet_messages_received_total", "cbnet_messages_sent_total"
        for name, key, count in (("a", over(sent, "b"), 300), ("b", over(sent, "clients", "client"), 300)):
            wait_until(lambda n=name, k=key, c=count: growth(before[n], samples(pair[n]), *k) >= c)  # cached for 0.2 s
        after = {name: samples(router) for name, router in pair.items()}
    # 350 are published at a; the 300 that match go to b, and from there to the client
    assert growth(before["a"], after["a"], *over(received, "clients", "client")) == 350
    assert growth(before["a"], after["a"], *over(sent, "b")) == 300
    assert growth(before["b"], after["b"], *over(received, "a")) == 300
    assert growth(before["b"], after["b"], *over(sent, "clients", "client")) == 300
    assert growth(before["a"], after["a"], *over("cbnet_sent_bytes_total", "b")) > 300 * 10
    assert growth(before["b"], after["b"], "cbnet_matches_total", ("table", "subscriptions")) == 300
    timed = after["b"]["cbnet_match_seconds_count", ("table", "subscriptions")]
    assert 300 // 64 <= timed == after["b"]["cbnet_match_seconds_bucket", ("le", "+Inf"), ("table", "subscriptions")]
    assert after["b"]["cbnet_subscriptions",] == 1
    assert after["a"]["cbnet_filters", ("filters", "known")] == after["a"]["cbnet_filters", ("filters", "table")] == 1
    interface = ("neighbour", "b"), ("tree", "0")
    assert after["a"]["cbnet_interface_filters", ("filters", "held"), *interface] == 1
    assert after["a"]["cbnet_interface_filters", ("filters", "announced"), *interface] == 0
    assert after["a"]["cbnet_streams", ("direction", "in")] == after["a"]["cbnet_version_complete",] == 1
    assert {each[0] for each in after["a"]} >= {"cbnet_offers", "cbnet_cache_bytes"}
    assert after["a"]["cbnet_reachable_routers",] == 2
    assert after["a"]["cbnet_links", ("role", "router")] == 1
    assert after["b"]["cbnet_confirmation_seconds_count", ("result", "confirmed")] >= 1


def test_traffic_of_closed_links_is_still_counted(pair):
    key = over("cbnet_messages_received_total", "clients", "client")
    before = samples(pair["b"]).get(key, 0)
    for _ in range(3):
        with connect(pair["b"].address) as client:
            client.publish({"y": 1}, wait=True)
    wait_until(lambda: samples(pair["b"]).get(key, 0) >= before + 3)
    assert samples(pair["b"])[key] == before + 3


def test_router_is_ready_when_it_has_its_neighbours():
    (port,) = free_ports(1)
    with router_processes("a", "--neighbour", f"b=127.0.0.1:{port}") as routers:
        assert routers["a"].state("/healthz") == (200, {"healthy": True})
        reason = "no link to b yet; waiting up to 10 s after the start"
        assert routers["a"].state() == (503, {"ready": False, "reasons": [reason]})
        with ProcessNetwork([Settings("b")], [], {"b": port}):
            routers["a"].wait_until_ready()
            assert routers["a"].state() == (200, {"ready": True})


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 405),
        (b"GET /healthz?now HTTP/1.0\r\n\r\n", 200),
        (b"nonsense\r\n\r\n", 400),
        (b"\xff\xfe\x00 \x00 HTTP/1.1\r\n\r\n", 400),
        (b"GET /healthz HTTP/2\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 5_000 + b"\r\n", 400),
        (b"G" * 100_000, 400),
    ],
)
def test_invalid_http_request_gets_an_error_status(pair, request_, status):
    with socket.create_connection(("127.0.0.1", pair["a"].http_port), timeout=60) as client:
        client.sendall(request_)
        answer = client.makefile("rb").readline()
    assert int(answer.split()[1]) == status
    assert pair["a"].state("/healthz") == (200, {"healthy": True})


def test_health_command(pair, cbnet):
    outcome = cbnet("health", f"127.0.0.1:{pair['a'].http_port}", "--ready")
    assert (outcome.code, outcome.out, outcome.err) == (0, "healthy; ready\n", "")
    outcome = cbnet("health", f"127.0.0.1:{pair['a'].http_port}", "--json")
    assert json.loads(outcome.out) == {"healthy": True, "ready": True, "reasons": [], "notes": []}
    outcome = cbnet("health", pair["a"].address)  # the address for routers and clients
    assert outcome.code == 1
    assert "http" in outcome.err  # the hint names the HTTP address


def test_head_request_gets_no_body(pair):
    status, headers, body = pair["a"].get("/healthz", "HEAD")
    assert (status, int(headers["Content-Length"]) > 0, body) == (200, True, "")


def test_log_is_json_lines_without_messages_or_secrets():
    with router_processes("ab") as routers:
        routers["a"].wait_until_ready()
        with connect(routers["a"].address, name='mallory", "event":"forged') as client:
            for _ in range(200):
                client.publish({"secret": "of the message"})
            client.publish({"x": 1}, wait=True)
        with socket.create_connection(("127.0.0.1", int(routers["a"].address.split(":")[1]))) as stranger:
            stranger.sendall(b"\x00\x00\x00\x03abc")
            stranger.recv(100)
        code, events = routers["a"].stop()
    names = [event["event"] for event in events]
    assert code == 0
    assert names[0] == "started"
    assert names[-1] == "stopped"
    assert {"link up", "link down", "refused", "network", "draining", "drained"} <= set(names)
    assert len(events) < 40
    assert all(event["router"] == "a" and event["time"].endswith("Z") for event in events)
    assert "of the message" not in str(events)


def stream(publishing, receiving, ending):
    """Publish continuously at some routers and receive at another; end a router; return the missed messages."""
    counts, is_over = dict.fromkeys(range(len(publishing)), 0), threading.Event()

    def publish(publisher, client):
        while not is_over.is_set():
            for _ in range(10):
                client.publish({"publisher": publisher, "n": counts[publisher]})
                counts[publisher] += 1
            time.sleep(0.005)

    with ExitStack() as stack:
        subscriber = stack.enter_context(connect(receiving))
        subscription = subscriber.subscribe("exists n", wait=True, queue=100_000)
        clients = [stack.enter_context(connect(address)) for address in publishing]
        threads = [threading.Thread(target=publish, args=each) for each in enumerate(clients)]
        for thread in threads:
            thread.start()
        time.sleep(1.5)  # more than `overlap`: until then messages also take the paths before the last change
        ending()
        ended = min(counts.values())
        wait_until(lambda: min(counts.values()) > ended + 500)
        is_over.set()
        for thread in threads:
            thread.join()
        got, missed = [], {(publisher, n) for publisher, count in counts.items() for n in range(count)}
        while (delivery := subscription.get(timeout=20 if missed else 1)) is not None:
            got.append((delivery.message["publisher"], delivery.message["n"]))
            missed.discard(got[-1])
    assert len(got) == len(set(got))
    return missed


RING = "ab bc cd da"


def test_draining_router_loses_nothing():
    with router_processes(RING) as routers:
        wait_until_converged(routers)
        states = []

        def drain():
            routers["b"].process.send_signal(signal.SIGTERM)
            states.append(wait_until(lambda: state if (state := routers["b"].state())[0] != 200 else None))
            _, log = routers["b"].process.communicate(timeout=60)
            states.append(log)

        a, b, c = (routers[name].address for name in "abc")
        # the second publisher is a client of b, and moves to a after its last message
        assert stream([a, [b, a]], c, drain) == set()  # from a to c by b, the first of two paths of equal length
        code, health = states[0]
        assert (code, health["ready"], health["reasons"]) == (503, False, ["the router is draining"])
        assert '"is_acknowledged":true,"bytes_left":0' in states[1]
        for neighbour in "bd":
            wait_until(lambda n=neighbour: samples(routers["a"])[over("cbnet_messages_sent_total", n)] > 100)


def test_messages_on_their_way_to_a_killed_router_take_another_path():
    with ProcessNetwork([Settings(name) for name in "abcd"], [tuple(link) for link in RING.split()]) as ring:
        ring.wait()

        def kill():
            ring.signal("b", signal.SIGSTOP)  # messages queue in its sockets, and it confirms none
            time.sleep(0.1)
            ring.kill("b")

        a, c = (str(ring.addresses[name]) for name in "ac")
        assert stream([a], c, kill) == set()


def test_second_signal_stops_at_once():
    with router_processes("ab", "--set", "drain=600", "--set", "overlap=600") as routers:
        routers["a"].wait_until_ready()
        routers["a"].process.send_signal(signal.SIGTERM)
        wait_until(lambda: routers["a"].state() == (503, {"ready": False, "reasons": ["the router is draining"]}))
        code, events = routers["a"].stop(signal.SIGINT)
    assert code == 0
    assert [event["event"] for event in events[-1:]] == ["stopped"]
    assert "drained" not in [event["event"] for event in events]
