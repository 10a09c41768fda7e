"""Publishing, subscribing, requests and traces over HTTP and WebSockets, against real routers."""

import base64
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.http_servers import event_stream, running_http
from support.waiting import wait_until
from websockets.sync.client import connect as connect_socket

from cbnet import connect
from cbnet.network import DurableLimits, Item
from cbnet.network.http.event_stream import KEEP_ALIVE
from cbnet.network.transport.journals.sqlite_journal import SqliteJournal

BINARY = bytes(range(256))


def received(subscription, count):
    return [subscription.get(timeout=60) for _ in range(count)]


# --- publish


def test_curl_publishes_a_message(server):
    with connect(server.address) as native:
        subscription = native.subscribe("price < 5", wait=True)
        command = ["curl", "-s", f"{server.url}/publish", "-d", '{"price": 3, "#": ["sale"]}']
        answer = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
        assert json.loads(answer) == {"published": 1, "router": "a"}
        assert received(subscription, 1)[0].message == {"price": 3, "#": ["sale"]}


def test_payload_is_text_or_base64(server, client):
    with connect(server.address) as native:
        subscription = native.subscribe("kind = 1", wait=True)
        for members in ({"payload": "añ"}, {"payload": base64.b64encode(BINARY).decode(), "encoding": "base64"}):
            assert client.post("/publish", json={"message": {"kind": 1}, **members}).status_code == 200
        assert [each.payload for each in received(subscription, 2)] == ["añ".encode(), BINARY]


EVENT = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order.paid"}


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (json.dumps({**EVENT, "data": {"amount": 5}}), {"content-type": "application/cloudevents+json"}),
        (json.dumps([{**EVENT, "data": {"amount": 5}}]), {"content-type": "application/cloudevents-batch+json"}),
        ('{"amount": 5}', {**{f"ce-{k}": v for k, v in EVENT.items()}, "content-type": "application/json"}),
    ],
    ids=["structured", "batched", "binary"],
)
def test_cloud_event_is_a_message_in_every_mode(server, client, content, headers):
    with connect(server.address) as native:
        subscription = native.subscribe('type = "order.paid" and data.amount = 5', wait=True)
        assert client.post("/publish", content=content, headers=headers).json()["published"] == 1
        assert received(subscription, 1)[0].message["source"] == "/shop"


def test_invalid_cloud_event_is_refused_with_the_remedy(client):
    headers = {"content-type": "application/cloudevents+json"}
    answer = client.post("/publish", content='{"specversion": "1.0", "id": "1"}', headers=headers)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "title": "Bad Request",
        "status": 400,
        "detail": "the event has no `source`",
        "hint": "a CloudEvent needs id, source, specversion, type",
    }


LINES = {"content-type": "application/x-ndjson"}


def test_json_lines_are_published_while_they_arrive(server, client):
    with connect(server.address) as native:
        subscription = native.subscribe("line >= 0", wait=True)
        seen = []

        def lines():
            for number in range(1_000):
                if number == 500:
                    seen.extend(received(subscription, 400))  # before the body ends
                yield json.dumps({"line": number}).encode() + (b"\n" if number < 999 else b"")

        answer = client.post("/publish", content=lines(), headers=LINES)
        assert answer.json() == {"published": 1_000, "router": "a"}
        seen.extend(received(subscription, 600))
    assert [each.message["line"] for each in seen] == list(range(1_000))


def test_lines_before_an_invalid_one_are_published(server, client):
    with connect(server.address) as native:
        subscription = native.subscribe("part >= 0", wait=True)
        answer = client.post("/publish", content=b'{"part": 1}\n\n{"part": 2}\n{"part": \n{"part": 4}', headers=LINES)
        assert (answer.status_code, answer.json()["line"], answer.json()["published"]) == (400, 4, 2)
        assert [each.message["part"] for each in received(subscription, 2)] == [1, 2]
        assert subscription.get(timeout=0.2) is None


@pytest.mark.parametrize(
    ("path", "content", "headers", "status", "detail"),
    [
        ("/publish", '{"x": ', {}, 400, "a value is missing"),
        ("/publish", "[1]", {}, 400, ""),
        ("/publish", "", {}, 400, "empty"),
        ("/publish", "<x/>", {"content-type": "application/xml"}, 415, "application/xml"),
        ("/publish?durabel=1", '{"x": 1}', {}, 400, "durabel"),
        ("/publish?durable=maybe", '{"x": 1}', {}, 400, "maybe"),
        ("/publish?timeout=-1", '{"x": 1}', {}, 400, "timeout"),
        ("/publish", "x" * (1 << 20) + "x", {}, 413, "1,048,576"),
        ("/publish", b'{"x": "' + b"y" * (1 << 20) + b'"}', LINES, 413, "line"),
        ("/request", '{"request": "price <"}', {}, 400, ""),
        ("/request", "{}", {}, 400, "no request"),
        ("/trace", '{"message": 3}', {}, 400, "no message"),
        ("/trace", '{"message": {"x": 1}, "at": "b"}', {}, 400, "`at` needs `of`"),
        ("/nowhere", "", {}, 404, ""),
        ("/status", "", {}, 405, ""),
    ],
)
def test_invalid_request_gets_a_problem_document(client, path, content, headers, status, detail):
    answer = client.post(path, content=content, headers=headers)
    assert answer.status_code == answer.json()["status"] == status
    assert detail in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"


# --- subscribe


def test_event_stream_has_the_messages_that_match(server, client):
    with event_stream(client, "price < 5", wait=True) as events, connect(server.address) as native:
        native.publish({"price": 9})
        native.publish({"price": 3, "#": ["sale"]}, b"text", wait=True)
        native.publish({"price": 4}, BINARY, wait=True)
        first, second = next(events), next(events)
    assert first[2] == {"message": {"price": 3, "#": ["sale"]}, "payload": "text", "source": "a"}
    assert base64.b64decode(second[2]["payload"]) == BINARY
    assert second[2]["encoding"] == "base64"


def test_id_of_an_event_is_that_of_its_message(client):
    with event_stream(client, "n >= 0") as one, event_stream(client, "n >= 0") as other:
        for number in range(3):
            client.post("/publish", json={"n": number})
        ids = [next(one)[1] for _ in range(3)]
        assert ids == [next(other)[1] for _ in range(3)]
    assert len(set(ids)) == 3


@pytest.mark.parametrize(
    ("dialect", "rule"),
    [
        ("cbnet", 'kind = "paid"'),
        ("eventbridge", '{"kind": ["paid"]}'),
        ("cloudevents", '{"exact": {"kind": "paid"}}'),
        ("cesql", "kind = 'paid'"),
        ("selector", "kind = 'paid'"),
    ],
)
def test_every_dialect_is_accepted(client, dialect, rule):
    with event_stream(client, rule, dialect=dialect) as events:
        client.post("/publish", json={"kind": "open"})
        client.post("/publish", json={"kind": "paid"})
        assert next(events)[2]["message"] == {"kind": "paid"}


def test_invalid_predicate_is_a_problem_with_its_place(client):
    answer = client.get("/subscribe", params={"predicate": "price <"})
    assert (answer.status_code, answer.json()["line"]) == (400, 1)
    assert client.get("/subscribe").json()["detail"] == "no predicate"
    answer = client.get("/subscribe", params={"predicate": "x", "dialect": "sql"}).json()
    assert answer["detail"] == "unknown dialect 'sql'"
    assert "selector" in answer["hint"]


def test_end_of_an_event_stream_ends_its_subscription():
    with running_http() as server, server.client() as client:
        with event_stream(client, "x = 1", wait=True):
            assert len(server.router.router.fib) == 1
        wait_until(lambda: len(server.router.router.fib) == 0)


# --- request, trace, status


def test_request_is_answered_by_a_holder(server, client):
    with connect(server.address) as native:
        native.offer('symbol = "A"', lambda _: Item({"symbol": "A", "price": 3}, b"quote"), wait=True)
        answer = client.post("/request", json={"request": 'symbol = "A"', "fresh": True}).json()
        assert (answer["message"], answer["payload"], answer["holder"]) == ({"symbol": "A", "price": 3}, "quote", "a")
        again = client.post("/request", json={"request": {"symbol": "A"}}).json()
        assert (again["message"], again["cache"]) == ({"symbol": "A", "price": 3}, "a")


def test_request_that_nobody_answers_is_not_found(client):
    answer = client.post("/request", json={"request": "nothing = 1"})
    assert (answer.status_code, answer.json()["detail"]) == (404, "no reply: no client offers it")


def test_trace_names_the_subscribers_and_delivers_nothing_if_it_is_dry(server, client):
    with connect(server.address) as native:
        subscription = native.subscribe("price < 5", wait=True)
        answer = client.post("/trace", json={"message": {"price": 3}, "dry": True}).json()
        assert [hop["router"] for hop in answer["hops"]] == ["a"]
        assert "price < 5" in answer["hops"][0]["delivered"][0]
        assert subscription.get(timeout=0.2) is None


def test_status_is_that_of_the_native_protocol(server, client):
    with connect(server.address) as native:
        theirs, ours = native.status(), client.get("/status").json()
    assert (ours["router"], ours["incarnation"], ours["network"]) == (theirs.router, theirs.incarnation, theirs.network)


def test_description_names_all_paths(server, client):
    described = client.get("/openapi.json").json()
    routes = {route.path: route for route in server.server._server.config.app.routes}
    assert described["openapi"].startswith("3.1")
    assert described["paths"].keys() == routes.keys()
    for path, route in routes.items():
        methods = {"get"} if path == "/ws" else {method.lower() for method in route.methods} - {"head"}
        assert described["paths"][path].keys() == methods


# --- WebSockets


class Socket:
    """A WebSocket of a client."""

    def __init__(self, server, **options):
        self._connecting = connect_socket(f"ws://{server.http}/ws", **options)

    def __enter__(self):
        self._socket = self._connecting.__enter__()
        return self

    def __exit__(self, *details):
        self._connecting.__exit__(*details)

    def send(self, **members):
        self._socket.send(json.dumps(members))

    def receive(self, timeout=60):
        return json.loads(self._socket.recv(timeout=timeout))

    def ask(self, **members):
        self.send(**members)
        return self.receive()


def test_web_socket_publishes_and_receives(server):
    with Socket(server) as one, Socket(server) as other:
        assert one.receive() == other.receive() == {"op": "welcome", "router": "a"}
        answer = one.ask(op="subscribe", id="prices", predicate="price < 5", wait=True)
        assert answer == {"op": "subscribed", "id": "prices", "confirmed": True, "routers": 1, "missing": []}
        other.send(op="publish", message={"price": 9})
        assert other.ask(op="publish", number=7, message={"price": 3}, payload="p") == {"op": "published", "number": 7}
        message = one.receive()
        assert message.pop("event").startswith("a:")
        assert message == {"op": "message", "id": "prices", "message": {"price": 3}, "payload": "p", "source": "a"}
        assert one.ask(op="unsubscribe", id="prices") == {"op": "unsubscribed", "id": "prices"}
        other.ask(op="publish", number=8, message={"price": 3})
        assert one.ask(op="request", number=9, request="nothing = 1")["detail"] == "no reply: no client offers it"


def in_background(call, *arguments, **options):
    """Run a call in a thread; return a function that waits for its result."""
    executor = ThreadPoolExecutor(1)
    future = executor.submit(call, *arguments, **options)
    executor.shutdown(wait=False)
    return future.result


def test_web_socket_answers_requests(server, client):
    with Socket(server) as holder:
        holder.receive()
        answer = holder.ask(op="offer", id="quotes", predicate="exists share and #quote", wait=True)
        assert answer == {"op": "offered", "id": "quotes", "confirmed": True, "routers": 1, "missing": []}
        wanted = {"share": "A", "#": ["quote"]}
        reply = in_background(client.post, "/request", json={"request": wanted})
        requested = holder.receive()
        assert requested == {"op": "requested", "id": "quotes", "number": requested["number"], "request": wanted}
        item = {**wanted, "price": 3}
        holder.send(op="answer", number=requested["number"], message=item, payload="p", keep=0)
        answer = reply(timeout=60).json()
        assert (answer["message"], answer["payload"], answer["holder"], answer["cache"]) == (item, "p", "a", None)

        reply = in_background(client.post, "/request", json={"request": wanted})  # again: it was not to be cached
        holder.send(op="answer", number=holder.receive()["number"])
        assert reply(timeout=60).status_code == 404
        assert holder.ask(op="withdraw", id="quotes") == {"op": "withdrawn", "id": "quotes"}
        answer = client.post("/request", json={"request": wanted})
        assert (answer.status_code, answer.json()["detail"]) == (404, "no reply: no client offers it")


def test_wrong_answer_of_a_web_socket_is_an_error_and_no_item(server, client):
    with Socket(server) as holder:
        holder.receive()
        holder.ask(op="offer", id=1, predicate="exists bond", wait=True)
        for members, detail in (
            ({"message": {"bond": 8}}, "does not match"),
            ({"message": 8}, "not an object"),
            ({"message": {"bond": 7}, "keep": -1}, "keep"),
        ):
            reply = in_background(client.post, "/request", json={"request": {"bond": 7}})
            answer = holder.ask(op="answer", number=holder.receive()["number"], **members)
            assert (answer["op"], detail in answer["detail"]) == ("error", True)
            assert reply(timeout=60).status_code == 404
        for members, detail in (
            ({"op": "offer", "id": 1, "predicate": "x = 1"}, "the id 1 is in use"),
            ({"op": "offer", "id": 2}, "no predicate"),
            ({"op": "withdraw", "id": 2}, "no offer 2"),
            ({"op": "answer", "number": 99}, "no open request 99"),
        ):
            assert detail in holder.ask(**members)["detail"]


def test_request_survives_a_web_socket_that_vanishes(server, client, caplog):
    with Socket(server) as holder:
        holder.receive()
        holder.ask(op="offer", id=1, predicate="exists fund", wait=True)
        reply = in_background(client.post, "/request", json={"request": {"fund": 7}})
        assert holder.receive()["op"] == "requested"
    assert reply(timeout=60).status_code in (404, 504)
    assert "no answer to a request" not in caplog.text


def test_mistake_on_a_web_socket_keeps_it_open(server):
    with Socket(server) as socket:
        socket.receive()
        for members, detail in (
            ({"op": "subscribe", "id": 1, "predicate": "price <"}, ""),
            ({"op": "subscribe", "predicate": "price < 5"}, "no id"),
            ({"op": "dance"}, "unknown op 'dance'"),
            ({"op": "publish", "number": 2, "message": 3}, "no message"),
            ({"op": "unsubscribe", "id": 5}, "no subscription 5"),
        ):
            answer = socket.ask(**members)
            assert (answer["op"], answer["status"]) == ("error", 400)
            assert detail in answer["detail"]
            assert {name: answer[name] for name in ("id", "number") if name in answer} == {
                name: members[name] for name in ("id", "number") if name in members
            }
        socket._socket.send("not JSON")
        assert socket.receive()["detail"].startswith("not a JSON object")
        assert socket.ask(op="trace", number=3, message={"price": 3}, dry=True)["op"] == "traced"


def test_members_of_a_queue_group_share_messages_whatever_protocol_they_use(server, client):
    with (
        event_stream(client, "n >= 0", group="workers", wait=True) as events,
        Socket(server) as socket,
        connect(server.address) as native,
    ):
        socket.receive()
        assert socket.ask(op="subscribe", id=1, predicate="n >= 0", group="workers")["op"] == "subscribed"
        member = native.subscribe("n >= 0", group="workers", wait=True)
        for number in range(6):
            native.publish({"n": number})
        found = [next(events)[2]["message"]["n"] for _ in range(2)]
        found += [socket.receive()["message"]["n"] for _ in range(2)]
        found += [each.message["n"] for each in received(member, 2)]
        assert sorted(found) == [0, 1, 2, 3, 4, 5]
        listed = client.get("/subscriptions").json()["subscriptions"]
        assert [each["group"] for each in listed] == ["workers"] * 3
        for refused in (
            client.get("/subscribe", params={"predicate": "x > 0", "group": "g", "from": "1h"}).json(),
            socket.ask(op="subscribe", id=2, predicate="x > 0", group="g", durable="jobs"),
        ):
            assert "has no queue group" in refused["detail"]


def test_durable_messages_come_again_until_they_are_acknowledged(tmp_path):
    with running_http(journal=tmp_path) as server, server.client() as client:
        with Socket(server) as socket:
            socket.receive()
            assert socket.ask(op="subscribe", id=1, predicate="x > 0", durable="jobs", wait=True)["op"] == "subscribed"
        for number in (1, 2, 3):
            assert client.post("/publish?durable=true", json={"x": number}).json()["subscriptions"] == [1]
        offsets = []
        with Socket(server) as socket:
            socket.receive()
            socket.ask(op="subscribe", id=1, durable="jobs")
            for number in (1, 2, 3):
                message = socket.receive()
                assert message["message"] == {"x": number}
                offsets.append(message["offset"])
            socket.send(op="acknowledge", id=1, up_to=offsets[1])
            socket.ask(op="trace", number=1, message={"x": 0}, dry=True)  # after it was handled
        with Socket(server) as socket:
            socket.receive()
            socket.ask(op="subscribe", id=1, durable="jobs")
            assert socket.receive()["message"] == {"x": 3}


def test_what_a_socket_acknowledges_just_before_it_leaves_does_not_come_again(tmp_path):
    with running_http(journal=tmp_path) as server, connect(server.address) as native:
        with Socket(server) as socket:
            socket.receive()
            socket.ask(op="subscribe", id=1, predicate="x > 0", durable="jobs")
            native.publish({"x": 1}, durable=True)
            assert socket.receive()["offset"] == 1
            socket.send(op="acknowledge", id=1, up_to=1)
            assert socket.ask(op="unsubscribe", id=1) == {"op": "unsubscribed", "id": 1}
        assert native.durable_subscriptions().subscriptions[0].messages == 0


def test_a_socket_learns_what_a_durable_subscription_lost_before_the_messages(tmp_path):
    with running_http(journal=tmp_path) as server, connect(server.address) as native:
        limits = DurableLimits(messages=2, policy="drop oldest")
        native.subscribe("x > 0", durable="jobs", limits=limits).unsubscribe()
        for number in range(1, 6):
            native.publish({"x": number}, durable=True)
        with Socket(server) as socket:
            socket.receive()
            socket.ask(op="subscribe", id=1, durable="jobs")
            lost, *rest = (socket.receive() for _ in range(3))
            assert (lost["op"], lost["messages"]) == ("lost", 3)
            assert [each["message"]["x"] for each in rest] == [4, 5]
            assert native.durable_subscriptions().subscriptions[0].lost == 3


def test_requests_one_after_another_are_one_publisher(tmp_path):
    with running_http(journal=tmp_path, history="x > 0") as server:
        for number in range(1, 11):
            with server.client() as client:  # a connection of its own
                assert client.post("/publish?durable=true", json={"x": number}).json()["published"] == 1
            wait_until(lambda: not server.router.router.links.all())
        with connect(server.address) as native:
            subscription = native.subscribe("x > 0", since="first")
            assert [each.message["x"] for each in received(subscription, 10)] == list(range(1, 11))
    journal = SqliteJournal(tmp_path, "a")
    assert len(journal.recover().windows) == 1
    journal.close()


def test_streams_and_sockets_begin_in_the_past(tmp_path):
    with running_http(journal=tmp_path, history="n >= 0") as server, server.client() as client:
        for n in range(5):
            client.post("/publish?durable=true", json={"n": n})
        with event_stream(client, "n > 2", **{"from": "first"}) as events:
            rows = [next(events) for _ in range(2)]
            assert [(name, data["message"], data["offset"]) for name, _, data in rows] == [
                ("message", {"n": 3}, 4), ("message", {"n": 4}, 5),
            ]  # fmt: skip
            client.post("/publish", json={"n": 5})
            assert next(events)[2]["message"] == {"n": 5}
        with event_stream(client, "n >= 0", **{"from": "30d"}) as events:
            names = [next(events)[0] for _ in range(7)]
            assert names == ["lost"] + ["message"] * 6
        with event_stream(client, "n > 100", **{"from": "30d"}) as events:
            began = time.monotonic()
            assert next(events)[0] == "lost"
            assert time.monotonic() - began < KEEP_ALIVE / 2  # though no message follows
        answer = client.get("/subscribe", params={"predicate": "n >= 0", "from": "soon"})
        assert (answer.status_code, answer.json()["detail"]) == (400, "invalid start 'soon'")
        answer = client.get("/subscribe", params={"predicate": "m = 1", "from": "first"})
        assert (answer.status_code, "has only messages that match" in answer.json()["detail"]) == (403, True)
        with Socket(server) as socket:
            socket.receive()
            assert socket.ask(**{"op": "subscribe", "id": 1, "predicate": "n >= 0", "from": 6})["op"] == "subscribed"
            assert socket.receive()["message"] == {"n": 5}
        assert "cbnet_history_messages 6.0" in client.get("/metrics").text
