"""Raw clients of cbnet routers: plain publishing to a subscriber, and acknowledged publishing."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from cbnet.errors import CbnetError
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import (
    Deliver,
    DurablePublish,
    DurablePublished,
    Frame,
    Hello,
    Ping,
    Pong,
    Publish,
    Subscribe,
    Subscribed,
)
from cbnet.network.protocol.wire import MAX_VERSION, MIN_VERSION, FrameReader, encode
from cbnet_lab.bench.acknowledged.publishing_run import number_of

CONTENT: Final[dict[str, Any]] = {"x": 1}
PREDICATE = "x > 0"
_TIMEOUT = 60.0  # seconds
_CONFIRM = 20.0  # seconds


class _Connection:
    """A greeted connection."""

    def __init__(self, address: Address, name: str) -> None:
        self.socket = socket.create_connection(address, timeout=_TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = FrameReader()
        hello = Hello(
            low=MIN_VERSION, high=MAX_VERSION, role="client", name=name, network="cbnet", life=0, link=0, scheme=""
        )
        self.ask(encode(hello) + encode(Ping(1)), Pong)

    def ask(self, data: bytes, kind: type[msgspec.Struct]) -> Frame:
        """Send bytes, and return the first frame of a kind."""
        self.socket.sendall(data)
        while received := self.socket.recv(1 << 16):
            for frame in self.reader.feed(received):
                if isinstance(frame, kind):
                    return frame
        raise CbnetError("the router closed the connection")


class PlainLink:
    """Messages to one plain subscriber: a message is answered when it is delivered."""

    def __init__(self, publish_at: Address, subscribe_at: Address) -> None:
        publisher, subscriber = _Connection(publish_at, "publisher"), _Connection(subscribe_at, "subscriber")
        answer = subscriber.ask(encode(Subscribe(1, PREDICATE, _CONFIRM)), Subscribed)
        if not isinstance(answer, Subscribed) or not answer.is_confirmed:
            raise CbnetError("the subscription was not confirmed")
        self.publisher, self.answers = publisher.socket, subscriber.socket
        self._reader = subscriber.reader

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:  # noqa: ARG002
        """Return a `Publish` frame."""
        return encode(Publish(0, CONTENT, [], payload, False))

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of delivered messages."""
        return (number_of(frame.payload) for frame in self._reader.feed(data) if isinstance(frame, Deliver))


class AcknowledgedLink:
    """Messages to durable subscriptions: a message is answered when they have it on disk."""

    def __init__(self, publish_at: Address, subscriptions: int) -> None:
        """Connect; subscriptions: how many must store each message."""
        connection = _Connection(publish_at, "publisher")
        self.publisher = self.answers = connection.socket
        self._reader = connection.reader
        self._publisher = secrets.randbits(63)
        self._subscriptions = subscriptions

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:
        """Return a `DurablePublish` frame."""
        return encode(DurablePublish(self._publisher, number, floor, _TIMEOUT, CONTENT, [], payload))

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of stored messages."""
        for frame in self._reader.feed(data):
            if isinstance(frame, DurablePublished):
                if frame.subscriptions != self._subscriptions or frame.silent or frame.refused:
                    raise CbnetError(f"a message was not stored: {frame}")
                yield frame.sequence
