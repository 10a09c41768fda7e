"""HTTP clients of the HTTP trial: event streams, WebSockets, one that never reads, and health checks."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final
from urllib.parse import quote
from urllib.request import urlopen

import msgspec
import psutil
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect
from websockets.uri import parse_uri

from cbnet.errors import CbnetError
from cbnet.network.protocol.addresses import Address
from cbnet_lab.bench.result_table import HIDDEN

_SMALL: Final = 4_096  # receive buffer of a client that never reads, in bytes
_INTERVAL: Final = 0.1  # seconds between two health checks
_TIMEOUT: Final = 10.0  # timeout of a health check, in seconds
_CONFIRM: Final = 30.0  # timeout for the confirmation of a subscription, in seconds


def event_stream(http: Address, predicate: str) -> Iterator[dict[str, Any]]:
    """Subscribe with `GET /subscribe`; yield the data of events until the connection ends.

    Lines of the chunked encoding, between events, are skipped.
    """
    with socket.create_connection(http, timeout=_CONFIRM) as link, link.makefile("rb") as lines:
        link.sendall(f"GET /subscribe?predicate={quote(predicate)} HTTP/1.1\r\nHost: {http}\r\n\r\n".encode())
        for line in lines:
            if line.startswith(b"data: "):
                link.settimeout(None)  # the first event is the confirmation
                yield msgspec.json.decode(line[6:])


def web_socket(http: Address, predicate: str) -> Iterator[dict[str, Any]]:
    """Subscribe over a WebSocket; yield the objects that arrive until the connection ends."""
    with connect(url(http)) as link:
        send(link, op="subscribe", id=1, predicate=predicate)
        for text in link:
            members = msgspec.json.decode(text)
            if members["op"] == "error":
                raise CbnetError(f"{predicate}: the router answered {members}")
            yield members


def stalled_client(http: Address) -> socket.socket:
    """Return a WebSocket that subscribes to everything, with a small buffer, and reads nothing more."""
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
    link.connect(tuple(http))
    WebSocketBytes(link, http).send(b'{"op":"subscribe","id":1,"predicate":"true"}')
    return link


class WebSocketBytes:
    """A WebSocket over a socket that the caller may write, too; nothing is read unasked, and pings are not answered."""

    def __init__(self, link: socket.socket, http: Address, **headers: str) -> None:
        """Send the handshake, and wait for its answer."""
        self.link, self._protocol = link, ClientProtocol(parse_uri(url(http)), max_size=None)
        self._events: list[Any] = []
        request = self._protocol.connect()
        request.headers.update(headers)
        self._protocol.send_request(request)
        self.send()
        if self._receive() is None or self._protocol.handshake_exc is not None:
            raise ConnectionError(f"no WebSocket: {self._protocol.handshake_exc}")

    def send(self, *texts: bytes) -> None:
        """Send text frames in one write."""
        for text in texts:
            self._protocol.send_text(text)
        self.link.sendall(b"".join(self._protocol.data_to_send()))

    def receive(self) -> tuple[Opcode | None, bytes]:
        """Return the kind and the data of the next frame; None at the end of the connection."""
        frame = self._receive()
        return (frame.opcode, bytes(frame.data)) if isinstance(frame, Frame) else (None, b"")

    def _receive(self) -> Any:
        while not self._events:
            data = self.link.recv(1 << 16)
            if not data:
                return None
            self._protocol.receive_data(data)
            self._events += self._protocol.events_received()
        return self._events.pop(0)


def url(http: Address) -> str:
    """Return the WebSocket URL."""
    return f"ws://{http}/ws"


def send(link: ClientConnection, **members: Any) -> None:
    """Send an object."""
    link.send(msgspec.json.encode(members).decode())


def answer(link: ClientConnection, op: str) -> None:
    """Wait for an answer with this op; raise an error for any other."""
    members = msgspec.json.decode(link.recv())
    if members["op"] != op:
        raise CbnetError(f"the router answered {members} instead of {op}")


@dataclass
class RouterWatch:
    """Samples the memory of a router, and requests `/healthz` on a new connection each time."""

    pid: int = field(metadata=HIDDEN)
    http: Address = field(metadata=HIDDEN)
    memory_before_mb: float = 0.0
    memory_connected_mb: float = 0.0  # with all subscribers connected
    memory_peak_mb: float = 0.0
    health_checks: int = 0
    slowest_health_ms: float = 0.0
    failures: int = field(default=0, metadata=HIDDEN)  # of health checks

    def __post_init__(self) -> None:
        self.memory_before_mb = self.memory_mb

    @property
    def memory_mb(self) -> float:
        """Memory of the process now."""
        return float(psutil.Process(self.pid).memory_info().rss / 1e6)

    def run(self, is_over: Event) -> None:
        """Sample until `is_over` is set."""
        while not is_over.wait(_INTERVAL):
            self.memory_peak_mb = max(self.memory_peak_mb, self.memory_mb)
            began = time.monotonic()
            self.health_checks += 1
            try:
                urlopen(f"http://{self.http}/healthz", timeout=_TIMEOUT).close()
            except OSError:  # including a response other than 200
                self.failures += 1
            self.slowest_health_ms = max(self.slowest_health_ms, 1000 * (time.monotonic() - began))
