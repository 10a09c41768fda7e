"""Attacks over HTTP and WebSockets: large bodies, slow headers, malformed requests and frames, foreign origins."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Final

from cbnet_lab.faults.attacks.attacker import HTTP_TIMEOUT, Attacker, Work
from cbnet_lab.faults.attacks.ring import ATTACKED

_MEMBERS: Final = 80_000  # of an object of about 1 MB; a message may have 4,096 values
_CONNECTIONS: Final = 16
_SLOW, _SLOW_THREADS = 50, 4
_PAUSE = 0.1  # seconds
_HUGE: Final = "9" * 23  # more than 64 bits
_FOREIGN: Final = "https://attacker.example"
_HEADERS = 60_000  # bytes; 16 KiB are allowed
_UPGRADE: Final = (
    "GET /ws HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nUpgrade: websocket\r\n{more}"
    "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def members(attacker: Attacker) -> Sequence[Work]:
    """Publish objects with very many members, which are refused."""
    body = b"{" + b",".join(b'"m%05d":1' % number for number in range(_MEMBERS)) + b"}"
    return [partial(_refused, attacker, "POST", "/publish", body)] * _CONNECTIONS


def _refused(attacker: Attacker, method: str, path: str, body: bytes | None = None, **headers: str) -> None:
    """Send a request that must be refused."""
    status, answer = attacker.http(method, path, body, **headers)
    if not 400 <= status < 500:
        attacker.harm(f"{method} {path[:40]} was answered with {answer}")


def numbers(attacker: Attacker) -> Sequence[Work]:
    """Send numbers of more than 64 bits in a query, and over a WebSocket, which must stay open."""

    def over_socket() -> None:
        with closing(open_web_socket(attacker)) as opened:
            text = b'{"op":"subscribe","id":1,"predicate":"true","from":%s}' % _HUGE.encode()
            opened.sendall(socket_frame(1, text) + socket_frame(1, b'{"op":"publish","number":7,"message":{}}'))
            answers = [_read_frame(opened) for _ in range(3)]  # the welcome is the first
            attacker.did("requests")
            attacker.tell(f"WebSocket: {answers[1][1].decode(errors='replace')}")
            if [code for code, _ in answers] != [1, 1, 1] or b'"published"' not in answers[2][1]:
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

    def health() -> None:
        status, answer = attacker.http("GET", "/healthz")
        if status != 200:
            attacker.harm(f"a health check was answered with {answer}")
        attacker.is_over.wait(_PAUSE)

    return [health, *(partial(_dribble, attacker, []) for _ in range(_SLOW_THREADS))]


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
        "an unknown kind": socket_frame(3, b""),
        "reserved bits": bytes([0xF1, 0x80]) + bytes(4),
        "a long ping": socket_frame(9, bytes(126)),
        "a continuation of nothing": socket_frame(0, b"{}"),
        "text that is not UTF-8": socket_frame(1, b"\xff\xfe"),
        "2 MiB in pieces": bytes([1, 0xFF]) + (1 << 18).to_bytes(8) + bytes(4 + (1 << 18))
        + (bytes([0, 0xFF]) + (1 << 18).to_bytes(8) + bytes(4 + (1 << 18))) * 7,
    }  # fmt: skip

    def send(what: str, data: bytes) -> None:
        with closing(open_web_socket(attacker)) as opened:
            end = time.monotonic() + HTTP_TIMEOUT
            try:
                opened.sendall(data)
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

    def upgrade() -> None:
        with closing(attacker.connection(attacker.target.http[ATTACKED])) as opened:
            answer = _exchange(opened, _upgrade(attacker, f"Origin: {_FOREIGN}\r\n"))
        attacker.did("requests")
        status = attacker.tell(answer.split(b"\r\n")[0].decode(errors="replace"))
        if " 403" not in status:
            attacker.harm(f"a WebSocket of another origin was answered with {status}")

    post = partial(_refused, attacker, "POST", "/publish", b'{"price": 1}', Origin=_FOREIGN)
    return [upgrade, post, partial(_refused, attacker, "GET", "/subscribe?predicate=true", Origin=_FOREIGN)]


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


def _upgrade(attacker: Attacker, more: str = "") -> bytes:
    token, host = attacker.token, attacker.target.http[ATTACKED]
    return _UPGRADE.format(host=host, token=token, more=more).encode()


def open_web_socket(attacker: Attacker) -> socket.socket:
    """Return a WebSocket."""
    opened = attacker.connection(attacker.target.http[ATTACKED])
    opened.sendall(_upgrade(attacker))
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        byte = opened.recv(1)
        if not byte:
            raise ConnectionError(f"no WebSocket: {answer[:80]!r}")
        answer += byte
    if not answer.startswith(b"HTTP/1.1 101"):
        raise ConnectionError(f"no WebSocket: {answer[:80]!r}")
    return opened


def socket_frame(kind: int, data: bytes) -> bytes:
    """Return a short frame of a client; its mask is 0."""
    size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0xFE]) + len(data).to_bytes(2)
    return bytes([0x80 | kind]) + size + bytes(4) + data


def _read_frame(opened: socket.socket) -> tuple[int | None, bytes]:
    """Return the kind and the data of a frame of the router; None at the end of the connection."""
    head = _read(opened, 2)
    if not head:
        return None, b""
    size = head[1] & 0x7F
    if size >= 126:
        size = int.from_bytes(_read(opened, 2 if size == 126 else 8))
    return head[0] & 0x0F, _read(opened, size)


def _end_of_socket(opened: socket.socket) -> str | None:
    """Read a frame; return how it ends a WebSocket, or refuses what was sent, if it does."""
    kind, data = _read_frame(opened)
    if kind == 1 and b'"error"' in data:
        return "an error"
    if kind == 8:
        return str(int.from_bytes(data[:2])) if data else "no code"
    return "closed" if kind is None else None


def _read(opened: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = opened.recv(size - len(data))
        if not part:
            return b""
        data += part
    return data
