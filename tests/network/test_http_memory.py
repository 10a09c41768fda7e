"""The memory of HTTP clients is released when they end, without a garbage collection."""

import gc
import json
import socket
from collections import Counter
from contextlib import contextmanager

import pytest
from support.http_fuzz import HANDSHAKE
from support.http_servers import running_http
from support.waiting import wait_until

KINDS = {
    "HttpConnection", "WebSocketConnection", "AsyncClient", "ClientInbox", "ClientLink", "Connection", "MemoryTransport", "LinkOutput",
    "_Session", "_Offers", "AsyncSubscription", "AsyncOffer", "ServerProtocol", "RequestResponseCycle", "_RequestParser",
}  # fmt: skip
COUNT = 3  # clients
POST = b"POST /publish HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 8\r\n\r\n"
LARGE = b"\xff" + (1 << 30).to_bytes(8) + bytes(4)  # the length of a frame of 1 GiB, and its mask


def text(**members):
    data = json.dumps(members).encode()
    return bytes([0x81, 0xFE]) + len(data).to_bytes(2) + bytes(4) + data


OFFER = text(op="offer", id=1, predicate="exists y")
SUBSCRIBE = text(op="subscribe", id=1, predicate="x = 1")
PUBLISH = text(op="publish", number=2, message={"x": 1})
CASES = {  # what is sent, and a part of the answer that is awaited before the next part; the client then closes the connection
    "after a WebSocket was used": [
        (HANDSHAKE, b'"a"}'), (OFFER, b'"id":1}'), (SUBSCRIBE, b'"id":1}'), (PUBLISH, b'"number":2}'),
    ],
    "without the end of a WebSocket's handshake": [(HANDSHAKE[:-2], b"")],
    "after an error of a WebSocket": [(HANDSHAKE, b'"a"}'), (text(op="subscribe", id=1, predicate="x <"), b'"id":1}')],
    "after a frame without a mask": [(HANDSHAKE, b'"a"}'), (b"\x81\x02{}", None)],
    "after a frame that is too large": [(HANDSHAKE, b'"a"}'), (b"\x81" + LARGE, None)],
    "after a handshake by a POST": [(HANDSHAKE.replace(b"GET", b"POST"), None)],
    "after a handshake with an invalid header": [(HANDSHAKE.replace(b"\r\n\r\n", b"\r\nX Y: z\r\n\r\n"), None)],
    "after a publication": [(POST + b'{"x": 1}', b"}\n")],
    "after an invalid second request": [(POST + b'{"x": 1}', b"}\n"), (b"\xff\r\n\r\n", None)],
    "while the network is watched": [(b"GET /watch HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"\n\n\r\n")],
    "while an event stream is open": [(b"GET /subscribe?predicate=x%3E0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"\n\n\r\n")],
}  # fmt: skip


def present():
    """Return the number of objects of each kind."""
    return Counter(name for each in gc.get_objects() if (name := type(each).__name__) in KINDS)


def converse(server, parts):
    """Send the parts of a conversation; None: read until the router closes the connection."""
    with socket.create_connection(tuple(server.http), timeout=60) as client:
        for data, end in parts:
            client.sendall(data)
            answer = b""
            while end is None or end not in answer:
                received = client.recv(65_536)
                assert received or end is None, answer
                answer += received
                if not received:
                    break


@contextmanager
def no_collection():
    """Collect no garbage."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.fixture(scope="module")
def server():
    with running_http() as running:
        yield running


@pytest.mark.parametrize("case", CASES)
def test_memory_of_a_client_is_released_when_it_ends(server, case):
    converse(server, CASES[case])
    wait_until(lambda: not server.server._connections._all() and not server.router._connections)
    with no_collection():
        before = present()
        for _ in range(COUNT):
            converse(server, CASES[case])
        # The variable of a loop that waits may refer to one.
        wait_until(lambda: max((present() - before).values(), default=0) <= 1, timeout=60)
