"""Frames of the measured servers: greeting, publication, and the shape of deliveries.

A format opens a link as a publisher, or as a subscriber, whose subscription is then in effect. It returns the frame
that publishes a content, which the frame contains unchanged; and the shape of the first frame of received bytes, or
None if more bytes are needed. Frames are not decoded one by one: a frame that begins with the same bytes as the
previous one has the same shape.

No client library is used, because it would be the bottleneck. With one subscriber and 100 bytes of payload, nats-server
2.15 delivered 270,000 messages per second to these frames and 109,000 to the library nats-py, all of whose clients
together took 8 µs of processor time per message; the server needs about 2.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from struct import pack
from typing import Final, NamedTuple

import msgspec

from cbnet.errors import CbnetError
from cbnet.network.protocol.frames import FRAMES, Deliver, Ping, Pong, frame_number
from cbnet.network.protocol.wire import LENGTH_BYTES
from cbnet_lab.bench.router.load import enclosed, subscriber_filter
from cbnet_lab.bench.router.router_client import RawLink, RouterClient


class FrameShape(NamedTuple):
    """The shape of the first frame of received bytes."""

    length: int  # in bytes
    head: int  # bytes that are the same in all frames of this shape
    content: int | None  # where the content begins; None for a frame that delivers nothing


class CbnetFormat:
    """A cbnet router."""

    def __init__(self, channel: str) -> None:
        """Subscribe to messages of an airline."""
        self._channel = channel

    def open_publisher(self, link: RawLink, index: int) -> None:
        """Greet the router."""
        RouterClient(link, f"publisher-{index}")

    def open_subscriber(self, link: RawLink, index: int) -> None:
        """Greet the router and subscribe, confirmed by all routers."""
        RouterClient(link, f"subscriber-{index}").subscribe([subscriber_filter(self._channel, index)])

    def publication(self, content: bytes) -> bytes:
        """Return a `Publish` frame."""
        return enclosed(content)

    def shape(self, data: bytes, content_bytes: int) -> FrameShape | None:
        """Return the shape of a frame; the head of a `Deliver` is everything but its number and its content."""
        end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES])
        if len(data) < max(end, LENGTH_BYTES + 1):
            return None
        fields = msgspec.msgpack.decode(data[LENGTH_BYTES:end])
        if fields[0] != frame_number(Deliver):
            if fields[0] in (frame_number(Ping), frame_number(Pong)):
                return FrameShape(end, end, None)
            name = next(kind.__name__ for kind in FRAMES if frame_number(kind) == fields[0])
            raise CbnetError(f"the router sent {name}: {fields[1:]}")
        if fields[1] != [1]:
            raise CbnetError(f"the router delivered a message to the subscriptions {fields[1]}, not to 1")
        number = len(msgspec.msgpack.encode(fields[4]))
        return FrameShape(end, end - content_bytes - number, end - content_bytes)


class NatsFormat:
    """The text protocol of NATS."""

    def __init__(self, channel: str) -> None:
        self._subject = channel.encode()

    def open_publisher(self, link: RawLink, index: int) -> None:
        """Greet the server: it speaks first, before TLS."""
        link.ask(b"", b"\r\n")
        link.begin_tls()
        options = {"verbose": False, "pedantic": False, "tls_required": link.is_tls, "name": f"client-{index}"}
        link.ask(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n", b"PONG\r\n")

    def open_subscriber(self, link: RawLink, index: int) -> None:
        """Greet the server and subscribe to the subject."""
        self.open_publisher(link, index)
        link.ask(b"SUB " + self._subject + b" 1\r\nPING\r\n", b"PONG\r\n")

    def publication(self, content: bytes) -> bytes:
        """Return a PUB line and its payload."""
        return b"PUB %b %d\r\n%b\r\n" % (self._subject, len(content), content)

    def shape(self, data: bytes, content_bytes: int) -> FrameShape | None:
        """Return the shape of a MSG, or of a short line."""
        return _shape(
            data, b"MSG %b 1 %d\r\n" % (self._subject, content_bytes), content_bytes + 2, (b"PING\r\n", b"PONG\r\n")
        )


class RedisFormat:
    """Redis: RESP, with PUBLISH and SUBSCRIBE."""

    def __init__(self, channel: str) -> None:
        self._channel = channel.encode()

    def open_publisher(self, link: RawLink, index: int) -> None:
        """Greet the server."""
        link.begin_tls()
        link.ask(b"PING %d\r\n" % index, b"\r\n%d\r\n" % index)

    def open_subscriber(self, link: RawLink, index: int) -> None:
        """Greet the server and subscribe to the channel."""
        self.open_publisher(link, index)
        link.ask(b"SUBSCRIBE " + self._channel + b"\r\n", b":1\r\n")

    def publication(self, content: bytes) -> bytes:
        """Return the command PUBLISH."""
        return b"*3\r\n$7\r\nPUBLISH\r\n" + self._arguments(len(content)) + content + b"\r\n"

    def shape(self, data: bytes, content_bytes: int) -> FrameShape | None:
        """Return the shape of a message."""
        return _shape(data, b"*3\r\n$7\r\nmessage\r\n" + self._arguments(content_bytes), content_bytes + 2, ())

    def _arguments(self, content_bytes: int) -> bytes:
        return b"$%d\r\n%b\r\n$%d\r\n" % (len(self._channel), self._channel, content_bytes)


class MqttFormat:
    """MQTT 3.1.1, quality of service 0."""

    def __init__(self, channel: str) -> None:
        self._channel = channel

    def open_publisher(self, link: RawLink, index: int) -> None:
        """Greet the broker as a publisher."""
        self._greet(link, f"publisher-{self._channel}-{index}")

    def open_subscriber(self, link: RawLink, index: int) -> None:
        """Greet the broker and subscribe to the topic."""
        self._greet(link, f"subscriber-{self._channel}-{index}")
        link.ask(_packet(0x82, pack(">H", 1) + _text(self._channel) + b"\0"), b"\x90\x03\x00\x01\x00")

    def _greet(self, link: RawLink, name: str) -> None:
        link.begin_tls()
        link.ask(_packet(0x10, _text("MQTT") + b"\x04\x02\x00\x00" + _text(name)), b"\x20\x02\x00\x00")

    def publication(self, content: bytes) -> bytes:
        """Return a PUBLISH packet."""
        return _packet(0x30, _text(self._channel) + content)

    def shape(self, data: bytes, content_bytes: int) -> FrameShape | None:
        """Return the shape of a PUBLISH packet."""
        return _shape(data, self.publication(bytes(content_bytes))[:-content_bytes], content_bytes, ())


WireFormat = CbnetFormat | NatsFormat | RedisFormat | MqttFormat
FORMATS: Final[dict[str, Callable[[str], WireFormat]]] = {
    "cbnet": CbnetFormat, "nats": NatsFormat, "redis": RedisFormat, "mosquitto": MqttFormat,
}  # fmt: skip


def _shape(data: bytes, head: bytes, rest: int, others: tuple[bytes, ...]) -> FrameShape | None:
    """Return the shape of a frame that starts with `head`, or is one of `others`."""
    if data.startswith(head):
        return FrameShape(len(head) + rest, len(head), len(head)) if len(data) >= len(head) + rest else None
    for other in others:
        if data.startswith(other):
            return FrameShape(len(other), len(other), None)
    if any(each.startswith(data) for each in (head, *others)):
        return None
    raise CbnetError(f"the server sent {data[:80]!r}")


def _text(text: str) -> bytes:
    return pack(">H", len(text)) + text.encode()


def _packet(kind: int, body: bytes) -> bytes:
    length, rest = b"", len(body)
    while rest > 0x7F:
        length, rest = length + bytes([rest & 0x7F | 0x80]), rest >> 7
    return bytes([kind]) + length + bytes([rest]) + body
