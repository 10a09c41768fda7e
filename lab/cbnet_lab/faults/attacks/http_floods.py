"""Floods over HTTP and WebSockets: of requests, tiny chunks, lines, and messages for many subscriptions."""

from __future__ import annotations

import select
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec

from cbnet.network.protocol.frames import Publish
from cbnet.network.protocol.wire import encode
from cbnet_lab.faults.attacks.attacker import Attacker, Work
from cbnet_lab.faults.attacks.client_attacks import link_floods
from cbnet_lab.faults.attacks.http_attacks import check_health
from cbnet_lab.faults.attacks.ring import ATTACKED

_CONNECTIONS: Final = 15  # one link fewer than the default rights allow
_PIPELINED: Final = 400  # requests without a token, over one connection
_STRANGERS: Final = 200  # connections without a token
_CHUNKS: Final = 20_000  # of one byte, of a body
_LINES: Final = 400
_SUBSCRIPTIONS: Final = 3_900  # as many as the default rights allow, nearly
_READ: Final = 1 << 16
_MATCHING: Final[dict[str, Any]] = {"airline": "YY", "price": 1}


def strangers(attacker: Attacker) -> Sequence[Work]:
    """Send pipelined requests that need no token over many connections, while health checks must be answered."""
    request = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    return [
        partial(check_health, attacker),
        partial(_flood, attacker, _STRANGERS, request * _PIPELINED, _PIPELINED, "requests"),
    ]


def chunks(attacker: Attacker) -> Sequence[Work]:
    """Publish bodies in chunks of one byte."""
    head = _head(attacker, "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n")
    body = b"1\r\n1\r\n" * _CHUNKS + b"0\r\n\r\n"
    return [partial(_flood, attacker, _CONNECTIONS, head + body, _CHUNKS, "chunks")]


def lines(attacker: Attacker) -> Sequence[Work]:
    """Publish JSON Lines with nested messages, without end."""
    head = _head(attacker, "Transfer-Encoding: chunked\r\nContent-Type: application/jsonl\r\n")
    line = msgspec.json.encode({"e": [{"p": n, "q": n} for n in range(20)], "text": "t" * 100}) + b"\n"
    chunk = b"%x\r\n%s\r\n" % (len(line) * _LINES, line * _LINES)
    return [partial(_flood, attacker, _CONNECTIONS, chunk, _LINES, "lines", first=head)]


def socket_subscriptions(attacker: Attacker) -> Sequence[Work]:
    """Subscribe thousands of times over a WebSocket to what another link publishes."""
    opened = attacker.web_socket()
    for start in range(0, _SUBSCRIPTIONS, 100):
        ids = range(start, min(start + 100, _SUBSCRIPTIONS))
        predicates = {id: f'airline = "YY" or n = {id}' for id in ids}
        opened.send(*(msgspec.json.encode({"op": "subscribe", "id": id, "predicate": predicates[id]}) for id in ids))
        attacker.did("subscriptions", len(ids))
    attacker.flood(opened.link)
    return [partial(_drain, attacker, [opened.link]), *_publisher(attacker, 0.05)]


def event_streams(attacker: Attacker) -> Sequence[Work]:
    """Read event streams over as many links as an account may have, of all that one link publishes."""
    head = "GET /subscribe?predicate=airline%20%3D%20%22YY%22 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    streams = [attacker.connection(attacker.target.http[ATTACKED]) for _ in range(_CONNECTIONS)]
    for stream in streams:
        stream.sendall(f"{head}Authorization: Bearer {attacker.token}\r\n\r\n".encode())
        attacker.flood(stream)
    for stream in streams:
        stream.recv(_READ)  # subscribed
        attacker.did("streams")
    return [partial(_drain, attacker, streams), *_publisher(attacker, 0.0)]


def _head(attacker: Attacker, more: str) -> bytes:
    host = attacker.target.http[ATTACKED]
    return f"POST /publish HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {attacker.token}\r\n{more}\r\n".encode()


def _publisher(attacker: Attacker, pause: float) -> Sequence[Work]:
    data = encode(Publish(0, _MATCHING, [], b"", False)) * 15 + encode(Publish(1, _MATCHING, [], b"", True))
    return link_floods(attacker, 1, data, 16, "messages", pause)


def _drain(attacker: Attacker, sockets: Sequence[socket.socket]) -> None:
    """Read what arrives."""
    readable, _, _ = select.select(sockets, [], [], 0.1)
    for each in readable:
        attacker.did("bytes read", len(each.recv(_READ)))


def _flood(attacker: Attacker, count: int, data: bytes, size: int, what: str, first: bytes = b"") -> None:
    """Send the same bytes again and again over many connections, and read the answers; size: number of `what`."""
    poll = select.epoll()
    left: dict[int, tuple[socket.socket, memoryview]] = {}

    def add() -> None:
        opened = attacker.connection(attacker.target.http[ATTACKED])
        opened.setblocking(False)
        left[opened.fileno()] = opened, memoryview(first + data)
        poll.register(opened, select.EPOLLIN | select.EPOLLOUT)

    for _ in range(count):
        add()
    while not attacker.is_over.is_set():
        for number, events in poll.poll(0.1):
            opened, rest = left[number]
            try:
                if events & select.EPOLLIN:
                    answer = opened.recv(_READ)
                    if not answer:
                        raise ConnectionError("closed by the router")
                    attacker.did("bytes read", len(answer))
                if events & select.EPOLLOUT:
                    rest = rest[opened.send(rest[:_READ]) :]
                    if not rest:
                        rest = memoryview(data)
                        attacker.did(what, size)
                    left[number] = opened, rest
            except OSError as error:
                attacker.tell(f"{type(error).__name__}: {error}")
                poll.unregister(opened)
                del left[number]
                opened.close()
                add()
