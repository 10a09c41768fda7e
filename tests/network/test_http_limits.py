"""Rights, limits and slow or vanishing clients of the HTTP server."""

import asyncio
import json
import socket
import ssl
import threading
import time

import httpx
import pytest
from support.certificates import Authority
from support.http_fuzz import HANDSHAKE, Connection
from support.http_servers import event_stream, running_http
from support.waiting import wait_until, wait_until_async
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as connect_socket

from cbnet import connect, parse
from cbnet.network.http import http_connection, web_socket
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.access import Access, Account, SecurityPolicy
from cbnet.network.security.rights import ALL_RIGHTS, Rights
from cbnet.network.security.tokens import new_token

TOKENS = {name: new_token(name) for name in ("boss", "eu", "slow")}
RIGHTS = {
    "boss": ALL_RIGHTS,
    "eu": Rights(parse('region = "EU"'), parse('region = "EU"'), watch=False, links=2),
    "slow": Rights(messages_per_second=50),
}
ACCOUNTS = {name: Account(RIGHTS[name], TOKENS[name].hash) for name in TOKENS}
SECURED = SecurityPolicy(Access(ACCOUNTS, frozenset()))


@pytest.fixture(scope="module")
def secured():
    with running_http(SECURED) as running:
        yield running


# --- tokens and rights


@pytest.mark.parametrize("token", [None, "nonsense", "eu.wrong"])
def test_client_without_a_valid_token_is_refused(secured, token):
    with secured.client(token) as client:
        for answer in (
            client.post("/publish", json={"region": "EU"}),
            client.get("/subscribe", params={"predicate": 'region = "EU"'}),
            client.get("/status"),
            client.get("/metrics"),
        ):
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "cbnet token" in answer.json()["hint"]
            assert token is None or token not in answer.text
        assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200


def test_client_has_the_rights_of_its_token(secured):
    with secured.client(TOKENS["eu"].token) as client:
        assert client.post("/publish", json={"region": "EU"}).status_code == 200
        answer = client.post("/publish", json={"region": "US"})
        assert (answer.status_code, "publish" in answer.json()["detail"]) == (403, True)
        answer = client.get("/subscribe", params={"predicate": "region = 'US'", "dialect": "selector"})
        assert answer.status_code == 403
        assert client.post("/trace", json={"message": {"region": "EU"}}).status_code == 403
        assert client.get("/metrics").status_code == 403
        assert client.get("/status").json()["peers"] == []
        lines = b'{"region": "EU"}\n{"region": "US"}\n{"region": "EU"}\n'
        answer = client.post("/publish", content=lines, headers={"content-type": "application/jsonl"})
        assert (answer.status_code, answer.json()["published"], answer.json()["refused"]) == (403, 2, 1)
    with secured.client(TOKENS["boss"].token) as client:
        assert "cbnet_uptime_seconds" in client.get("/metrics").text


def test_links_of_an_account_are_limited(secured):
    eu = 'region = "EU"'
    with secured.client(TOKENS["eu"].token) as client, event_stream(client, eu), event_stream(client, eu):
        answer = client.get("/status")
        assert (answer.status_code, "links" in answer.json()["detail"]) == (403, True)


def test_work_for_a_client_is_charged_to_its_account(secured, monkeypatch):
    wait_until(lambda: not secured.server._connections._all() and not len(secured.router.router.links))
    turns, payers = secured.router.turns, set()
    charge = turns.charge

    def recorded(payer, weight, seconds):
        payers.add(payer)
        charge(payer, weight, seconds)

    monkeypatch.setattr(turns, "charge", recorded)
    with secured.client() as stranger:
        assert stranger.get("/healthz").status_code == 200
    assert payers == {"host 127.0.0.1"}
    eu = {"region": "EU"}
    with secured.client(TOKENS["eu"].token) as client:
        client.post("/publish", json=eu)
        payers.clear()
        client.post("/publish", json=eu)
        assert payers == {"eu"}
    headers = {"Authorization": f"Bearer {TOKENS['eu'].token}"}
    with connect_socket(f"ws://{secured.http}/ws", additional_headers=headers) as client:
        assert json.loads(client.recv(timeout=60))["op"] == "welcome"
        payers.clear()
        client.send(json.dumps({"op": "subscribe", "id": 1, "predicate": 'region = "EU"'}))
        client.send(json.dumps({"op": "publish", "number": 1, "message": eu}))
        assert sorted(json.loads(client.recv(timeout=60))["op"] for _ in range(3)) == [
            "message",
            "published",
            "subscribed",
        ]
        assert payers == {"eu"}


def test_client_is_slowed_down_to_its_rate(secured):
    lines = b"".join(b'{"n": %d}\n' % number for number in range(150))
    with secured.client(TOKENS["slow"].token) as client:
        began = time.monotonic()
        answer = client.post("/publish", content=lines, headers={"content-type": "application/x-ndjson"})
        assert answer.json()["published"] == 150
        assert time.monotonic() - began > 1.5  # 50 at once, then 50 per second


def test_web_page_sends_its_token_in_the_first_frame(secured):
    with connect_socket(f"ws://{secured.http}/ws") as page:
        page.send(json.dumps({"op": "hello", "token": TOKENS["eu"].token}))
        assert json.loads(page.recv(timeout=60)) == {"op": "welcome", "router": "a"}
    with connect_socket(f"ws://{secured.http}/ws") as page:
        page.send(json.dumps({"op": "subscribe", "id": 1, "predicate": "x = 1"}))
        assert json.loads(page.recv(timeout=60))["status"] == 401
        with pytest.raises(ConnectionClosed) as closed:
            page.recv(timeout=60)
        assert closed.value.rcvd.code == 1008
    wait_until(lambda: not secured.server._connections._all())
    headers = {"Authorization": f"Bearer {TOKENS['eu'].token}"}
    with connect_socket(f"ws://{secured.http}/ws", additional_headers=headers) as client:
        assert json.loads(client.recv(timeout=60))["op"] == "welcome"


def test_rights_that_are_taken_away_end_an_event_stream():
    with running_http(SECURED) as server, server.client(TOKENS["eu"].token) as client:
        with event_stream(client, 'region = "EU"') as events:
            access = Access({"boss": ACCOUNTS["boss"]}, frozenset())

            async def reload():
                router = server.router
                router.reload(router.router.settings, {}, access, router._contexts)

            server.call(reload())
            name, _, problem = next(events)
            assert (name, problem["status"]) == ("error", 403)
            assert "the client 'eu' was removed" in problem["detail"]
            with pytest.raises(StopIteration):
                next(events)
        assert client.get("/status").status_code == 401


def test_address_of_other_machines_is_served_with_tls(tmp_path):
    authority = Authority(tmp_path, "ours")
    tls = authority.tls("localhost")
    policy = SecurityPolicy(Access(ACCOUNTS, frozenset()), tls)
    trusting = ssl.create_default_context(cafile=str(authority.file))
    with running_http(policy, http=Address("0.0.0.0", 0)) as server:
        url = f"https://localhost:{server.http.port}"
        assert httpx.get(f"{url}/healthz", verify=trusting).status_code == 200
        headers = {"Authorization": f"Bearer {TOKENS['eu'].token}"}
        answer = httpx.post(f"{url}/publish", json={"region": "EU"}, headers=headers, verify=trusting)
        assert answer.json() == {"published": 1, "router": "a"}
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://localhost:{server.http.port}/healthz")


def test_certificate_identifies_an_http_client(tmp_path):
    authority = Authority(tmp_path, "ours")
    policy = SecurityPolicy(Access({"card": Account(RIGHTS["eu"])}, frozenset()), authority.tls("localhost"))
    context = ssl.create_default_context(cafile=str(authority.file))
    context.load_cert_chain(authority.issue("card"))
    with running_http(policy, http=Address("0.0.0.0", 0)) as server:
        url = f"https://localhost:{server.http.port}"
        assert httpx.post(f"{url}/publish", json={"region": "EU"}, verify=context).status_code == 200
        assert httpx.post(f"{url}/publish", json={"region": "US"}, verify=context).status_code == 403


# --- web pages of other origins


def test_pages_of_other_origins_may_not_use_a_router():
    with running_http(origins=["https://good.example"]) as server, server.client() as client:
        evil, good = {"Origin": "https://evil.example"}, {"Origin": "https://good.example"}
        assert client.post("/publish", json={"x": 1}, headers=evil).status_code == 403
        answer = client.post("/publish", json={"x": 1}, headers=good)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, "https://good.example")
        preflight = {**good, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        assert client.options("/publish", headers=preflight).headers["access-control-allow-headers"] == "authorization"
        assert client.post("/publish", json={"x": 1}, headers={"Origin": server.url}).status_code == 200
        assert client.get("/status", headers={"Host": "evil.example:80"}).status_code == 403  # a name made to resolve
        with pytest.raises(InvalidStatus) as refused, connect_socket(f"ws://{server.http}/ws", origin=evil["Origin"]):
            pass
        assert refused.value.response.status_code == 403


def test_no_origin_is_allowed_by_default():
    with running_http() as server, server.client() as client:
        answer = client.get("/status", headers={"Origin": "https://good.example"})
        assert (answer.status_code, "access-control-allow-origin" in answer.headers) == (403, False)


# --- slow and vanishing clients


def plain(server, request=b""):
    """Open a TCP connection to the server, with small buffers, and send a part of a request."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.connect(tuple(server.http))
    client.sendall(request)
    return client


def test_slow_connections_never_make_the_health_check_fail(monkeypatch):
    monkeypatch.setattr(http_connection, "HEAD_TIMEOUT", 2.0)
    with running_http() as server:
        parts = (b"", b"GET /metrics HT", b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        slow = [plain(server, parts[number % 3]) for number in range(150)]
        for _ in range(20):
            assert server.is_healthy()
        for client in slow[0::3] + slow[1::3]:  # without a whole head
            client.settimeout(10)
            assert client.recv(1_000) == b""
        for client in slow:
            client.close()


def test_client_that_does_not_read_is_disconnected_in_the_end(monkeypatch):
    monkeypatch.setattr(http_connection, "STALL_TIMEOUT", 2.0)
    with running_http() as server, connect(server.address) as native:
        idle = plain(server, b"GET /subscribe?predicate=x%3E0&wait=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        wait_until(lambda: len(server.router.router.fib) == 1)
        for _ in range(400):
            native.publish({"x": 1}, b"." * 100_000, wait=True)
        wait_until(lambda: len(server.router.router.fib) == 0, timeout=60)
        idle.close()


def test_slow_subscriber_costs_a_bounded_queue_and_hinders_nobody():
    count, size = 600, 60_000  # 36 MB, of which the queue of a client holds 16 MiB
    with running_http() as server, server.client() as client, connect(server.address) as native:
        slow = plain(server, b"GET /subscribe?predicate=x%3E%3D0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        wait_until(lambda: len(server.router.router.fib) == 1)
        with event_stream(client, "x >= 0", wait=True) as events:
            seen = []
            reading = threading.Thread(target=lambda: seen.extend(next(events) for _ in range(count)))
            reading.start()
            peak = 0
            for number in range(count):
                native.publish({"x": number}, b"." * size, wait=True)
                peak = max(peak, *(each.queued for each in list(server.router._connections.values())))
                assert number % 100 or server.is_healthy()
            reading.join(timeout=60)
        assert [data["message"]["x"] for _, _, data in seen] == list(range(count))
        assert 1 << 23 < peak < 1 << 25
        assert count // 10 < read_lost(slow, native) < count
        slow.close()


def read_lost(client, native):
    """Read an event stream until it reports lost messages; return their number."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    client.settimeout(20)
    lines = client.makefile("rb")
    native.publish({"x": 0})  # the report comes with the next message, or after a pause
    while not lines.readline().startswith(b"event: lost"):
        pass
    return json.loads(lines.readline().removeprefix(b"data: "))["messages"]


def test_web_socket_that_never_reads_hinders_nobody():
    with running_http() as server, server.client() as client, connect(server.address) as native:
        url = f"ws://{server.http}/ws"
        with connect_socket(url, max_queue=1, close_timeout=0.1) as idle:
            idle.send(json.dumps({"op": "subscribe", "id": 1, "predicate": "x >= 0"}))
            wait_until(lambda: len(server.router.router.fib) == 1)
            with event_stream(client, "x >= 0", wait=True) as events:
                for number in range(300):
                    native.publish({"x": number}, b"." * 20_000, wait=True)
                assert [next(events)[2]["message"]["x"] for _ in range(300)] == list(range(300))
            assert server.is_healthy()


def test_pings_of_a_web_socket_that_never_reads_take_no_memory():
    ping, pong = b"\x89\x80aaaa", b"\x8a\x00"

    async def story():
        connection = Connection(server)
        connection.send(HANDSHAKE)
        await wait_until_async(lambda: b"welcome" in connection.output)
        connection.send(ping)
        await wait_until_async(lambda: connection.output.endswith(pong))
        before = len(connection.output)
        connection.protocol.pause_writing()  # as a transport does while bytes wait
        connection.send(ping * 1_000)
        for _ in range(200):  # iterations of the event loop: on a slow machine they take several turns of the client
            await asyncio.sleep(0)
        assert len(connection.output) == before
        connection.protocol.resume_writing()
        connection.send(ping)
        await wait_until_async(lambda: len(connection.output) > before)
        assert len(connection.output) == before + len(pong)
        connection.close()

    with running_http() as server:
        server.call(story())


# --- memory before admission


POST = "POST /publish HTTP/1.1\r\nHost: 127.0.0.1\r\n{}Content-Length: 1000000\r\n\r\n"


@pytest.mark.parametrize("token", ["", "Authorization: Bearer eu.wrong\r\n"])
def test_body_of_an_unknown_client_is_not_read(secured, token):
    async def story():
        connection = Connection(secured)
        connection.send(POST.format(token).encode() + b"x")
        assert connection.is_paused
        await wait_until_async(lambda: connection.output.endswith(b"\n"))
        assert connection.output.startswith(b"HTTP/1.1 401")
        assert not secured.server._links._open
        connection.close()

    secured.call(story())


def test_body_of_a_known_client_is_read_when_its_rights_are_checked(secured):
    async def story():
        connection = Connection(secured)
        connection.send(POST.format(f"Authorization: Bearer {TOKENS['eu'].token}\r\n").encode() + b"x")
        assert connection.is_paused
        await wait_until_async(lambda: not connection.is_paused)
        connection.close()

    secured.call(story())


def test_unknown_client_is_counted_and_recorded(secured, caplog):
    before = secured.router.router.counters["denied.client"]
    with caplog.at_level("INFO"), secured.client("eu.wrong") as client:
        assert client.get("/status").status_code == 401
        assert client.get("/metrics").status_code == 401
    assert secured.router.router.counters["denied.client"] == before + 2
    records = [record.members for record in caplog.records if "operation" in getattr(record, "members", {})]
    assert [(each["operation"], each["client"]) for each in records] == [("link", "")] * 2
    assert all(each["address"].startswith("127.0.0.1:") for each in records)


FRAME = b"\x81\xff" + (1 << 20).to_bytes(8) + bytes(4)  # the head of one of 1 MiB


def test_little_is_read_from_a_web_socket_before_its_client_is_admitted(secured, monkeypatch):
    monkeypatch.setattr(web_socket, "_HELLO_TIMEOUT", 0.1)

    async def story():
        connection = Connection(secured)
        connection.send(HANDSHAKE)
        await wait_until_async(lambda: b"101 Switching" in connection.output)
        connection.send(FRAME + bytes(16_000))
        assert not connection.is_paused
        connection.send(bytes(4_096))
        assert connection.is_paused
        await wait_until_async(lambda: b"a token is required" in connection.output)
        connection.close()

    secured.call(story())


def test_web_socket_may_send_a_large_frame_at_once(secured):
    text = json.dumps({"op": "publish", "number": 1, "message": {"region": "EU"}, "payload": "p" * 500_000})
    hello = json.dumps({"op": "hello", "token": TOKENS["eu"].token})
    headers = {"Authorization": f"Bearer {TOKENS['eu'].token}"}
    for first, options in (([], {"additional_headers": headers}), ([hello], {})):
        with connect_socket(f"ws://{secured.http}/ws", **options) as page:
            for each in (*first, text):
                page.send(each)
            assert [json.loads(page.recv(timeout=60))["op"] for _ in range(2)] == ["welcome", "published"]


def test_invalid_frames_before_the_answer_to_the_handshake_end_a_web_socket(secured):
    async def story():
        connection = Connection(secured)
        connection.send(HANDSHAKE)
        connection.send(bytes(64))  # a frame without a mask
        assert connection.is_closed

    secured.call(story())


def test_vanished_client_leaves_nothing_behind():
    with running_http() as server:
        clients = [
            plain(server, b"GET /subscribe?predicate=x%3E0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
            plain(server, b"POST /publish HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"),
        ]
        wait_until(lambda: len(server.server._links._open) == 2)
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not an end
            client.close()
        wait_until(lambda: not server.server._links._open and not server.router._connections)
        assert not server.server._connections._all()


def test_number_of_sessions_is_limited_and_health_checks_are_not():
    with running_http(sessions=2) as server, server.client() as client:
        with event_stream(client, "x = 1"), event_stream(client, "x = 2"):
            answer = client.post("/publish", json={"x": 1})
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "http_connections" in answer.json()["hint"]
            assert server.is_healthy()
        wait_until(lambda: client.post("/publish", json={"x": 1}).status_code == 200)


def test_many_subscribers_may_come_at_once():
    with running_http(sessions=200) as server, connect(server.address) as native:
        request = b"GET /subscribe?predicate=x%3E0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        clients = [plain(server, request) for _ in range(200)]
        wait_until(lambda: len(server.router.router.fib) == 200)
        native.publish({"x": 1}, wait=True)
        for client in clients:
            client.settimeout(10)
            with client.makefile("rb") as lines:
                assert any(line.startswith(b'data: {"message"') for line in lines)
            client.close()


def test_idle_connections_are_closed_oldest_first(monkeypatch):
    monkeypatch.setattr(http_connection, "MAX_IDLE", 5)
    with running_http() as server:
        head = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        idle = []
        for _ in range(8):
            idle.append(plain(server, head))
            idle[-1].settimeout(10)
            assert idle[-1].recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 200"
        with idle[0].makefile("rb") as rest:
            assert rest.read().endswith(b'{"healthy":true}\n')  # to the end
        assert server.is_healthy()
        for client in idle:
            client.close()


def test_stop_ends_event_streams_and_web_sockets():
    with (
        running_http() as server,
        server.client() as client,
        connect_socket(f"ws://{server.http}/ws") as page,
        event_stream(client, "x = 1") as events,
    ):
        assert json.loads(page.recv(timeout=60))["op"] == "welcome"
        server.call(server.router.drain(2.0))
        assert client.get("/readyz").json()["reasons"] == ["the router is draining"]
        assert client.post("/publish", json={"x": 1}).status_code == 503
        name, _, problem = next(events)
        assert (name, problem["status"]) == ("error", 503)
        assert "the router is draining" in problem["detail"]
