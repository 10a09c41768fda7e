"""Raw links that publish messages, plain or acknowledged, to cbnet routers and to a nats-server.

    PUB bench _INBOX.bench.17 100 ──►  ◄── MSG _INBOX.bench.17 1 30 {"stream": "BENCH", "seq": 17}

The library nats-py creates the stream of JetStream and reads it at the end. Messages are published in raw frames,
because the library would be the bottleneck: with 500 messages in flight it published 10,500 per second, and these links
79,000; with one in flight, an answer took 0.25 ms and 0.055 ms.

nats-server answers when a message is written, and syncs the file every two minutes, so acknowledged messages are lost
if the machine fails; cbnet syncs before it answers.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Final

import nats

from cbnet.errors import CbnetError
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import Deliver, DurablePublish, DurablePublished, Publish
from cbnet.network.protocol.wire import encode
from cbnet.network.service.process_network import free_ports
from cbnet.network.transport.event_loop import run
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.router_client import RouterClient
from cbnet_lab.bench.router.wire_formats import NatsFormat
from cbnet_lab.bench.server_process import ServerProcess, ServerSetup, nats_program, running_server

PREDICATE: Final = "x > 0"  # of the subscriber at routers
_CONTENT: Final[dict[str, Any]] = {"x": 1}
_PUBLISH_TIMEOUT = 60.0  # seconds
_SUBJECT, _INBOX, _STREAM = "bench", "_INBOX.bench", "BENCH"
_READ_TIMEOUT = 20.0  # timeout for the next stored message, in seconds


def number_of(payload: bytes) -> int:
    """Return the number of a message, with which its payload begins."""
    return int.from_bytes(payload[:8])


class RouterLink:
    """Messages through routers, answered when delivered to a plain subscriber, or stored for a durable subscription."""

    def __init__(self, publish_at: Address, subscribe_at: Address | None) -> None:
        """Connect; subscribe_at: router of the plain subscriber; None if messages are acknowledged."""
        publisher = answers = RouterClient(RawLink(publish_at.port), "publisher")
        self._incarnation = secrets.randbits(63) if subscribe_at is None else None
        if subscribe_at is not None:
            answers = RouterClient(RawLink(subscribe_at.port), "subscriber")
            answers.subscribe([PREDICATE])
        self.publisher, self.answers, self._reader = publisher.link.socket, answers.link.socket, answers.reader

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:
        """Return a `Publish` or `DurablePublish` frame; floor: the lowest number without an answer."""
        if self._incarnation is None:
            return encode(Publish(0, _CONTENT, [], payload, False))
        return encode(DurablePublish(self._incarnation, number, floor, _PUBLISH_TIMEOUT, _CONTENT, [], payload))

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of the delivered or stored messages in received bytes, in order of arrival."""
        for frame in self._reader.feed(data):
            if isinstance(frame, Deliver):
                yield number_of(frame.payload)
            elif isinstance(frame, DurablePublished):
                if frame.subscriptions != 1 or frame.silent or frame.refused:
                    raise CbnetError(f"a message was not stored: {frame}")
                yield frame.sequence


class NatsLink:
    """Messages to a nats-server, answered when delivered to a subscriber, or stored in a stream."""

    def __init__(self, port: int, *, is_stored: bool) -> None:
        """Connect; is_stored: create the stream, and publish to it."""
        if is_stored:
            run(_add_stream(port))
        self._is_stored, self._rest = is_stored, b""
        self._format = NatsFormat(f"{_INBOX}.*" if is_stored else "plain")
        publisher, subscriber = RawLink(port), RawLink(port)
        self._format.open_publisher(publisher, 0)
        self._format.open_subscriber(subscriber, 1)
        self.publisher, self.answers = publisher.socket, subscriber.socket

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:  # noqa: ARG002
        """Return a PUB frame, for a stream with a reply subject."""
        if not self._is_stored:
            return self._format.publication(payload)
        return f"PUB {_SUBJECT} {_INBOX}.{number} {len(payload)}\r\n".encode() + payload + b"\r\n"

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of delivered or stored messages; answer a ping."""
        data, start = self._rest + data, 0
        while (end := data.find(b"\r\n", start)) >= 0:
            head, following = data[start:end], end + 2
            if head.startswith(b"MSG "):
                _, subject, *_, size = head.split()
                following += int(size) + 2
                if following > len(data):
                    break
                payload = data[end + 2 : following - 2]
                if self._is_stored and b'"error"' in payload:
                    raise CbnetError(f"nats-server: {payload.decode()}")
                yield int(subject.rpartition(b".")[2]) if self._is_stored else number_of(payload)
            elif head == b"PING":
                self.answers.sendall(b"PONG\r\n")
            elif head.startswith(b"-ERR"):
                raise CbnetError(f"nats-server: {head.decode()}")
            start = following
        self._rest = data[start:]


PublishingLink = RouterLink | NatsLink  # `publisher` and `answers` are the sockets to write to and to read from


def jetstream_server() -> AbstractContextManager[ServerProcess]:
    """Return a nats-server that stores its streams in its folder."""
    (port,) = free_ports(1)
    return running_server(ServerSetup((nats_program(), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", ".")), port)


async def _add_stream(port: int) -> None:
    client = await nats.connect(f"nats://127.0.0.1:{port}")
    await client.jetstream().add_stream(name=_STREAM, subjects=[_SUBJECT])
    await client.close()


def stored_in_stream(port: int, count: int) -> list[int]:
    """Return the numbers of the messages of the stream, in order, as a consumer receives them."""

    async def read() -> list[int]:
        client = await nats.connect(f"nats://127.0.0.1:{port}")
        consumer = await client.jetstream().subscribe(_SUBJECT, ordered_consumer=True)
        numbers: list[int] = []
        try:
            while len(numbers) < count:
                numbers.append(number_of((await consumer.next_msg(_READ_TIMEOUT)).data))
        except nats.errors.TimeoutError:  # no more messages
            pass
        await client.close()
        return numbers

    return run(read())
