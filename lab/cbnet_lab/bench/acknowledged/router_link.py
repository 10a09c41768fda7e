"""Raw clients of cbnet routers: plain publishing to a subscriber, and acknowledged publishing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any, Final

from cbnet.errors import CbnetError
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Deliver, DurablePublish, DurablePublished, Publish
from cbnet.network.protocol.wire import encode
from cbnet_lab.bench.acknowledged.publishing_run import number_of
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.wire_formats import CbnetFormat

CONTENT: Final[dict[str, Any]] = {"x": 1}
PREDICATE = "x > 0"
_TIMEOUT = 60.0  # seconds


class PlainLink:
    """Messages to one plain subscriber: a message is answered when it is delivered."""

    def __init__(self, publish_at: Address, subscribe_at: Address) -> None:
        client = CbnetFormat("")
        publisher, subscriber = RawLink(publish_at.port), RawLink(subscribe_at.port)
        client.greet(publisher, "publisher")
        self._reader = client.greet(subscriber, "subscriber")
        client.subscribe(subscriber, self._reader, [PREDICATE])
        self.publisher, self.answers = publisher.socket, subscriber.socket

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:  # noqa: ARG002
        """Return a `Publish` frame."""
        return encode(Publish(0, CONTENT, [], payload, False))

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of delivered messages."""
        return (number_of(frame.payload) for frame in self._reader.feed(data) if isinstance(frame, Deliver))


class AcknowledgedLink:
    """Messages to durable subscriptions: a message is answered when they have it on disk."""

    def __init__(self, publish_at: Address, subscriptions: int) -> None:
        """Connect; subscriptions: number of those that must store each message."""
        link = RawLink(publish_at.port)
        self._reader = CbnetFormat("").greet(link, "publisher")
        self.publisher = self.answers = link.socket
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
