"""A nats-server with JetStream: its stream, and links that publish to it.

    PUB bench _INBOX.bench.17 100 ──►  ◄── MSG _INBOX.bench.17 1 30 {"stream": "BENCH", "seq": 17}

The library nats-py creates the stream and reads it at the end. Messages are published in raw frames, because the
library would be the bottleneck: with 500 messages in flight it published 10,500 per second, and these links 79,000;
with one in flight, an answer took 0.25 ms and 0.055 ms.

nats-server answers when a message is written, and syncs the file every two minutes, so a machine that fails loses
acknowledged messages; cbnet syncs before it answers.
"""

from __future__ import annotations

from collections.abc import Iterator

import nats

from cbnet.errors import CbnetError
from cbnet.network.service.process_network import free_ports
from cbnet.network.transport.event_loop import run
from cbnet_lab.bench.acknowledged.publishing_run import number_of
from cbnet_lab.bench.router.raw_link import RawLink
from cbnet_lab.bench.router.wire_formats import NatsFormat
from cbnet_lab.bench.server_process import ServerProcess, ServerSetup, nats_program

_SUBJECT, _INBOX, _STREAM = "bench", "_INBOX.bench", "BENCH"
_TIMEOUT = 20.0  # seconds for the next stored message


def jetstream_server() -> ServerProcess:
    """Return a server whose streams are in its folder."""
    (port,) = free_ports(1)
    return ServerProcess(ServerSetup((nats_program(), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", ".")), port)


class NatsPlainLink:
    """Messages to one subscriber, without JetStream."""

    def __init__(self, port: int, subject: str = "plain") -> None:
        """Connect; subject: that of the subscription."""
        self._format, self._rest = NatsFormat(subject), b""
        publisher, subscriber = RawLink(port), RawLink(port)
        self._format.open_publisher(publisher, 0)
        self._format.open_subscriber(subscriber, 1)
        self.publisher, self.answers = publisher.socket, subscriber.socket

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:  # noqa: ARG002
        """Return a PUB frame."""
        return self._format.publication(payload)

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of delivered messages."""
        return (number_of(payload) for _, payload in self._messages(data))

    def _messages(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the subject and payload of messages in received bytes; answer a ping."""
        data, start = self._rest + data, 0
        while (end := data.find(b"\r\n", start)) >= 0:
            head, following = data[start:end], end + 2
            if head.startswith(b"MSG "):
                _, subject, *_, size = head.split()
                following += int(size) + 2
                if following > len(data):
                    break
                yield subject, data[end + 2 : following - 2]
            elif head == b"PING":
                self.answers.sendall(b"PONG\r\n")
            elif head.startswith(b"-ERR"):
                raise CbnetError(f"nats-server: {head.decode()}")
            start = following
        self._rest = data[start:]


class JetStreamLink(NatsPlainLink):
    """Messages to a stream in a file, each acknowledged."""

    def __init__(self, port: int) -> None:
        """Create the stream, and connect."""
        run(_add_stream(port))
        super().__init__(port, f"{_INBOX}.*")

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:  # noqa: ARG002
        """Return a PUB frame with a reply subject."""
        return f"PUB {_SUBJECT} {_INBOX}.{number} {len(payload)}\r\n".encode() + payload + b"\r\n"

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of stored messages."""
        for subject, payload in self._messages(data):
            if b'"error"' in payload:
                raise CbnetError(f"nats-server: {payload.decode()}")
            yield int(subject.rpartition(b".")[2])


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
                numbers.append(number_of((await consumer.next_msg(_TIMEOUT)).data))
        except nats.errors.TimeoutError:  # there are no more
            pass
        await client.close()
        return numbers

    return run(read())
