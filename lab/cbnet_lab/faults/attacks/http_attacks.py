"""Attacks over HTTP and WebSockets: large bodies, slow headers, malformed requests and frames, foreign origins."""

from __future__ import annotations

import socket
import time
from collections.abc import Container, Sequence
from contextlib import closing
from functools import partial
from typing import Final

from websockets.frames import Opcode

from cbnet_lab.faults.attacks.attacker import HTTP_TIMEOUT, Attacker, Work
from cbnet_lab.faults.attacks.ring import ATTACKED
from cbnet_lab.faults.http_clients import WebSocketBytes

_MEMBERS: Final = 80_000  # of an object of about 1 MB; a message may have 4,096 values
_CONNECTIONS: Final = 16
_SLOW, _SLOW_THREADS = 50, 4
_PAUSE = 0.1  # seconds
_HUGE: Final = "9" * 23  # more than 64 bits
_FOREIGN: Final = "https://attacker.example"
_HEADERS = 60_000  # bytes; 16 KiB are allowed
_UPGRADE: Final = {
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "A" * 22 + "==",
    "Sec-WebSocket-Version": "13",
}  # fmt: skip


def members(attacker: Attacker) -> Sequence[Work]:
    """Publish objects with very many members, which are refused."""
    body = b"{" + b",".join(b'"m%05d":1' % number for number in range(_MEMBERS)) + b"}"
    return [partial(_refused, attacker, "POST", "/publish", body)] * _CONNECTIONS


def _refused(
    attacker: Attacker, method: str, path: str, body: bytes | None = None, *,
    statuses: Container[int] = range(400, 500), **headers: str,
) -> None:  # fmt: skip
    """Send a request that must be refused."""
    status, answer = attacker.http(method, path, body, **headers)
    if status not in statuses:
        attacker.harm(f"{method} {path[:40]} was answered with {answer}")


def numbers(attacker: Attacker) -> Sequence[Work]:
    """Send numbers of more than 64 bits in a query, and over a WebSocket, which must stay open."""

    def over_socket() -> None:
        opened = attacker.web_socket()
        with closing(opened.link):
            text = b'{"op":"subscribe","id":1,"predicate":"true","from":%s}' % _HUGE.encode()
            opened.send(text, b'{"op":"publish","number":7,"message":{}}')
            answers = [opened.receive() for _ in range(3)]  # the welcome is the first
            attacker.did("requests")
            attacker.tell(f"WebSocket: {answers[1][1].decode(errors='replace')}")
            if any(kind is not Opcode.TEXT for kind, _ in answers) or b'"published"' not in answers[2][1]:
                attacker.harm(f"a large number ended a WebSocket: {answers[-1]!r}")

    return [partial(_refused, attacker, "GET", f"/subscribe?predicate=true&from={_HUGE}"), over_socket]


def headers(attacker: Attacker) -> Sequence[Work]:
    """Send headers beyond the limit, and a second request behind one whose length is ambiguous."""
    token, host = attacker.token, attacker.target.http[ATTACKED]
    first = f"Host: {host}\r\nAuthorization: Bearer {token}\r\n"
    large = "".join(f"X-{n}: {'h' * 1_000}\r\n" for n in range(_HEADERS // 1_000))
    body = "0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    both = f"Content-Length: {len(body)}\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n"

    def check(request: str, what: str) -> None:
        with closing(attacker.connection(host)) as opened:
            answer = _exchange(opened, request.encode())
        attacker.did("requests")
        statuses = [line for line in answer.decode(errors="replace").splitlines() if line.startswith("HTTP/1.1 ")]
        attacker.tell(f"{what}: {'; '.join(statuses) or 'closed'}")
        if len(statuses) > 1 or any(not line.startswith("HTTP/1.1 4") for line in statuses):
            attacker.harm(f"{what} were answered with {'; '.join(statuses)}")

    return [
        partial(check, f"GET /status HTTP/1.1\r\n{first}{large}\r\n", f"{_HEADERS:,} bytes of headers"),
        partial(check, f"POST /publish HTTP/1.1\r\n{first}{both}\r\n{body}", "two lengths"),
    ]


def slow_headers(attacker: Attacker) -> Sequence[Work]:
    """Send headers byte by byte over many connections, while health checks must be answered."""
    return [partial(check_health, attacker), *(partial(_dribble, attacker, []) for _ in range(_SLOW_THREADS))]


def check_health(attacker: Attacker) -> None:
    """Request a health check, which must be answered."""
    status, answer = attacker.http("GET", "/healthz")
    if status != 200:
        attacker.harm(f"a health check was answered with {answer}")
    attacker.is_over.wait(_PAUSE)


def _dribble(attacker: Attacker, held: list[socket.socket]) -> None:
    """Send one byte over each connection; open another in place of each that was closed."""
    while len(held) < _SLOW:
        held.append(attacker.connection(attacker.target.http[ATTACKED]))
        held[-1].sendall(b"GET /status HTTP/1.1\r\nX-Slow: ")
        attacker.did("connections")
    for each in [*held]:
        try:
            each.sendall(b"x")
            attacker.did("bytes")
        except OSError:
            held.remove(each)
            attacker.tell("closed by the router")
    attacker.is_over.wait(_PAUSE)


def socket_frames(attacker: Attacker) -> Sequence[Work]:
    """Send WebSocket frames that are malformed or too large; each must be refused, or end its connection."""
    malformed = {
        "a length of 2^62": b"\x81\xff" + (1 << 62).to_bytes(8) + bytes(4),
        "no mask": b"\x81\x02{}",
        "an unknown kind": bytes([0x83, 0x80]) + bytes(4),
        "reserved bits": bytes([0xF1, 0x80]) + bytes(4),
        "a long ping": bytes([0x89, 0xFE]) + (126).to_bytes(2) + bytes(4 + 126),
        "a continuation of nothing": bytes([0x80, 0x82]) + bytes(4) + b"{}",
        "text that is not UTF-8": bytes([0x81, 0x82]) + bytes(4) + b"\xff\xfe",
        "2 MiB in pieces": bytes([1, 0xFF]) + (1 << 18).to_bytes(8) + bytes(4 + (1 << 18))
        + (bytes([0, 0xFF]) + (1 << 18).to_bytes(8) + bytes(4 + (1 << 18))) * 7,
    }  # fmt: skip

    def send(what: str, data: bytes) -> None:
        opened = attacker.web_socket()
        with closing(opened.link):
            end = time.monotonic() + HTTP_TIMEOUT
            try:
                opened.link.sendall(data)
                answer = _end_of_socket(opened)
                while answer is None and time.monotonic() < end:
                    answer = _end_of_socket(opened)
            except OSError as error:
                answer = "closed" if isinstance(error, ConnectionError) else None
        attacker.did("frames")
        if answer is None:
            attacker.harm(f"a WebSocket stays open after {what}")
        else:
            attacker.tell(f"{what}: {answer}")

    return [partial(send, what, data) for what, data in malformed.items()]


def origins(attacker: Attacker) -> Sequence[Work]:
    """Send requests as a web page of another site could."""
    refused = partial(_refused, attacker, statuses=(403,), Origin=_FOREIGN)
    return [
        partial(refused, "GET", "/ws", **_UPGRADE),
        partial(refused, "POST", "/publish", b'{"price": 1}'),
        partial(refused, "GET", "/subscribe?predicate=true"),
    ]


def _exchange(opened: socket.socket, data: bytes) -> bytes:
    """Send a request; return what arrives until the connection ends, or nothing arrives for a second."""
    answer = b""
    try:
        opened.sendall(data)
        opened.settimeout(HTTP_TIMEOUT)
        while part := opened.recv(1 << 16):
            answer += part
            opened.settimeout(1.0)
    except OSError:  # closed, or nothing follows
        pass
    return answer


def _end_of_socket(opened: WebSocketBytes) -> str | None:
    """Read a frame; return how it ends a WebSocket, or refuses what was sent, if it does."""
    kind, data = opened.receive()
    if kind is Opcode.TEXT and b'"error"' in data:
        return "an error"
    if kind is Opcode.CLOSE:
        return str(int.from_bytes(data[:2])) if data else "no code"
    return "closed" if kind is None else None
