"""Clients of the door benchmark: event streams and WebSockets, without an event loop.

After `subscribe`, a client is read when its socket is ready. One that is not read is the client that never reads.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from cbnet.errors import CbnetError
from cbnet.network.protocol.addresses import Address

_READ: Final = 1 << 16
_SMALL: Final = 4_096  # bytes that the kernel keeps for a client that never reads
_TIMEOUT: Final = 30.0  # seconds


class EventStream:
    """A client of `GET /subscribe`."""

    def __init__(self, http: Address) -> None:
        self.link = _connected(http)
        self._host = str(http)
        self._rest = b""

    def subscribe(self, predicate: str) -> None:
        """Subscribe; return when the router has confirmed it."""
        self.link.sendall(
            f"GET /subscribe?predicate={quote(predicate)} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode()
        )
        try:
            while not any("confirmed" in members for members in self.received()):
                pass
        except (EOFError, TimeoutError):
            raise CbnetError(f"{predicate}: no event stream: {self._rest.decode(errors='replace')}") from None

    def received(self) -> Iterator[dict[str, Any]]:
        """Yield the data of the events that have arrived; raise EOFError at the end of the stream.

        Lines of the chunked encoding, between events, are passed over.
        """
        *lines, self._rest = (self._rest + _read(self.link)).split(b"\n")
        for line in lines:
            if line.startswith(b"data: "):
                yield msgspec.json.decode(line[6:])


class WebSocketClient:
    """A client of `/ws`."""

    def __init__(self, http: Address, *, buffer: int | None = None) -> None:
        """Connect; buffer: size of the kernel's receive buffer, in bytes."""
        self.link = _connected(http, buffer)
        self._protocol = ClientProtocol(parse_uri(f"ws://{http}/ws"))
        self._protocol.send_request(self._protocol.connect())
        self._flush()
        self.answer("welcome")

    def subscribe(self, predicate: str) -> None:
        """Subscribe; return when the router has confirmed it."""
        self.send({"op": "subscribe", "id": 1, "predicate": predicate})
        self.answer("subscribed")

    def send(self, members: Mapping[str, Any]) -> None:
        """Send an object."""
        self._protocol.send_text(msgspec.json.encode(members))
        self._flush()

    def answer(self, op: str) -> None:
        """Wait for an answer, which must have this op."""
        while not (answers := [*self.received()]):
            pass
        if answers[0]["op"] != op:
            raise CbnetError(f"the router answered {answers[0]} instead of {op}")

    def received(self) -> Iterator[dict[str, Any]]:
        """Yield the objects that have arrived, and answer pings; raise EOFError at the end of the connection."""
        self._protocol.receive_data(_read(self.link))
        self._flush()
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                yield msgspec.json.decode(event.data)
            elif isinstance(event, Frame) and event.opcode is Opcode.CLOSE:
                raise EOFError

    def _flush(self) -> None:
        if data := b"".join(self._protocol.data_to_send()):
            self.link.sendall(data)


def stalled_client(http: Address) -> WebSocketClient:
    """Return a client that has subscribed to everything, with a small buffer; do not read from it."""
    client = WebSocketClient(http, buffer=_SMALL)
    client.subscribe("true")
    return client


def _connected(http: Address, buffer: int | None = None) -> socket.socket:
    link = socket.socket()
    if buffer is not None:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.settimeout(_TIMEOUT)
    link.connect(tuple(http))
    return link


def _read(link: socket.socket) -> bytes:
    data = link.recv(_READ)
    if not data:
        raise EOFError
    return data
