"""A minimal AMQP 0-9-1 client: it binds queues, publishes and consumes.

    ┌──────┬─────────┬──────┬───────────┬──────┐
    │ type │ channel │ size │ payload   │ 0xCE │    type 1: a method, 2: the properties of a message, 3: its body
    └──────┴─────────┴──────┴───────────┴──────┘
       1        2        4      size        1

Client and broker share one machine, so processor time of the client is taken from the broker: messages are encoded
in advance except for their payload, and only the bodies of deliveries are decoded.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from struct import Struct

from cbnet.errors import CbnetError

METHOD, PROPERTIES, BODY = 1, 2, 3
_END = b"\xce"
_HEAD = Struct(">BHI")
_IDS = Struct(">HH")
_HEADERS, _DELIVERY_MODE = 0x2000, 0x1000  # which properties follow
_TRANSIENT = b"\x01"
_TIMEOUT = 60.0  # seconds for an answer

START, START_OK, TUNE, TUNE_OK, OPEN, OPEN_OK, CLOSE = (
    (10, 10),
    (10, 11),
    (10, 30),
    (10, 31),
    (10, 40),
    (10, 41),
    (10, 50),
)
CHANNEL_OPEN, CHANNEL_OPEN_OK, CHANNEL_CLOSE = (20, 10), (20, 11), (20, 40)
EXCHANGE_DECLARE, EXCHANGE_DECLARE_OK = (40, 10), (40, 11)
QUEUE_DECLARE, QUEUE_DECLARE_OK, QUEUE_BIND, QUEUE_BIND_OK = (50, 10), (50, 11), (50, 20), (50, 21)
CONSUME, CONSUME_OK, PUBLISH = (60, 20), (60, 21), (60, 40)


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    """Return the bytes of a frame."""
    return _HEAD.pack(kind, channel, len(payload)) + payload + _END


def method(ids: tuple[int, int], *arguments: bytes, channel: int = 1) -> bytes:
    """Return the frame of a method."""
    return frame(METHOD, channel, _IDS.pack(*ids) + b"".join(arguments))


def short(text: str) -> bytes:
    """Return a text of at most 255 bytes."""
    data = text.encode()
    return bytes([len(data)]) + data


def long(data: bytes) -> bytes:
    """Return bytes prefixed with their length."""
    return len(data).to_bytes(4) + data


def table(values: Mapping[str, object]) -> bytes:
    """Return a table of named values: texts, bools, ints and floats."""
    return long(b"".join(short(name) + _value(value) for name, value in values.items()))


def _value(value: object) -> bytes:
    if isinstance(value, bool):
        return b"t" + bytes([value])
    if isinstance(value, int):
        return b"l" + value.to_bytes(8, signed=True)
    if isinstance(value, float):
        return b"d" + Struct(">d").pack(value)
    return b"S" + long(str(value).encode())


def publication(exchange: str, headers: Mapping[str, object], size: int) -> bytes:
    """Return the bytes before the payload of a transient message; after the payload comes 0xCE."""
    header_table = table(headers)
    properties = (
        _IDS.pack(PUBLISH[0], 0)
        + size.to_bytes(8)
        + (_HEADERS | _DELIVERY_MODE).to_bytes(2)
        + header_table
        + _TRANSIENT
    )
    prefix = method(PUBLISH, bytes(2), short(exchange), short(""), b"\0") + frame(PROPERTIES, 1, properties)
    return prefix + _HEAD.pack(BODY, 1, size)


class FrameBuffer:
    """Splits the byte stream of a broker into frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield kind and payload of the frames that end in these bytes."""
        pending = self._bytes
        pending += data
        start, last = 0, len(pending) - _HEAD.size - 1
        while start <= last:
            kind, _, size = _HEAD.unpack_from(pending, start)
            body = start + _HEAD.size
            end = body + size + 1
            if end > len(pending):
                break
            yield kind, bytes(pending[body : end - 1])
            start = end
        del pending[:start]


class AmqpClient:
    """A connection to a broker, with one channel."""

    def __init__(self, host: str, port: int) -> None:
        """Connect as `guest`, the user that a broker accepts from its own machine."""
        self.socket = socket.create_connection((host, port), timeout=_TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = FrameBuffer()
        self._pending: list[tuple[int, bytes]] = []
        try:
            self._greet()
        except BaseException:
            self.close()
            raise

    def _greet(self) -> None:
        self.socket.sendall(b"AMQP\x00\x00\x09\x01")
        self._expect(START)
        guest = long(b"\0guest\0guest")
        tuned = self._call(method(START_OK, table({}), short("PLAIN"), guest, short("en_US"), channel=0), TUNE)
        no_heartbeat = bytes(2)
        agreed = method(TUNE_OK, tuned[:6], no_heartbeat, channel=0)
        self._call(agreed + method(OPEN, short("/"), short(""), b"\0", channel=0), OPEN_OK)
        self._call(method(CHANNEL_OPEN, short("")), CHANNEL_OPEN_OK)

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def declare_exchange(self, name: str) -> None:
        """Declare a headers exchange."""
        self._call(
            method(EXCHANGE_DECLARE, bytes(2), short(name), short("headers"), b"\0", table({})), EXCHANGE_DECLARE_OK
        )

    def declare_queue(self, name: str) -> None:
        """Declare a queue in memory."""
        self._call(method(QUEUE_DECLARE, bytes(2), short(name), b"\0", table({})), QUEUE_DECLARE_OK)

    def bind(self, queue: str, exchange: str, bindings: Sequence[Mapping[str, object]]) -> None:
        """Bind a queue once per mapping of headers, all of which must be equal."""
        for each in bindings:
            arguments = table({"x-match": "all", **each})
            bind = method(QUEUE_BIND, bytes(2), short(queue), short(exchange), short(""), b"\0", arguments)
            self._call(bind, QUEUE_BIND_OK)

    def consume(self, queue: str) -> None:
        """Consume a queue without acknowledgements."""
        no_ack = b"\x02"
        self._call(method(CONSUME, bytes(2), short(queue), short(""), no_ack, table({})), CONSUME_OK)

    def bodies(self) -> list[bytes]:
        """Wait for bytes and return the message bodies in them."""
        frames, self._pending = self._pending, []
        if not frames:
            data = self.socket.recv(1 << 18)
            if not data:
                raise CbnetError("the broker has closed the connection")
            frames = list(self._buffer.feed(data))
        return [payload for kind, payload in frames if kind == BODY]

    def _call(self, request: bytes, answer: tuple[int, int]) -> bytes:
        self.socket.sendall(request)
        return self._expect(answer)

    def _expect(self, answer: tuple[int, int]) -> bytes:
        """Wait for a method and return its arguments; later frames are kept."""
        while True:
            data = self.socket.recv(1 << 16)
            if not data:
                raise CbnetError("the broker has closed the connection")
            frames = list(self._buffer.feed(data))
            for index, (kind, payload) in enumerate(frames):
                if kind == METHOD and (ids := _IDS.unpack_from(payload)) in (answer, CLOSE, CHANNEL_CLOSE):
                    if ids != answer:
                        raise CbnetError(f"the broker refused: {_reason(payload)}")
                    self._pending += frames[index + 1 :]
                    return payload[_IDS.size :]


def _reason(close: bytes) -> str:
    """Return the reason in a `Close` method, which follows its ids and a code."""
    start = _IDS.size + 3
    return close[start : start + close[start - 1]].decode(errors="replace")
