"""Throughput and latency of acknowledged publishing, and of JetStream, in alternating rounds.

    cbnet, 1 router     publisher and durable subscriptions at one router, with a journal in a folder, or in PostgreSQL
    cbnet, 3 routers    publisher at a, durable subscription at c: a – b – c
    nats, 1 server      a stream in a file, synced before each answer or not

Afterwards all messages are read back over one subscription, and acknowledged; each must be stored once, in order.

    PUB bench _INBOX.bench.17 100 ──►  ◄── MSG _INBOX.bench.17 1 30 {"stream": "BENCH", "seq": 17}

The library nats-py creates the stream of JetStream and reads it at the end. Messages are published in raw frames,
because the library would be the bottleneck: with 500 messages in flight it published 10,500 per second, and these links
79,000; with one in flight, an answer took 0.25 ms and 0.055 ms.

By default nats-server answers when a message is written, and syncs the file every two minutes, so acknowledged messages
are lost if the machine fails; with `sync_interval: always`, and with cbnet, they are not.
"""

from __future__ import annotations

import secrets
import select
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import nats
import numpy as np

from cbnet.cli.console import plural
from cbnet.errors import CbnetError
from cbnet.network import ProcessNetwork, Settings, connect
from cbnet.network.client.async_subscription import DurableDelivery
from cbnet.network.protocol.addresses import Address
from cbnet.network.protocol.frames import DurablePublish, DurablePublished, DurablePublishedRun
from cbnet.network.protocol.wire import encode
from cbnet.network.service.reserved_ports import free_ports
from cbnet.network.transport.event_loop import run as run_async
from cbnet_lab.bench.plans import DurablePlan, Report
from cbnet_lab.bench.postgres_server import PostgresServer
from cbnet_lab.bench.processes import ServerProcess, ServerSetup, nats_program, running_server
from cbnet_lab.bench.result_table import ResultTable, shown, shown_columns
from cbnet_lab.bench.router.router_client import RawLink, RouterClient
from cbnet_lab.bench.router.servers import SERVERS
from cbnet_lab.bench.router.wire_formats import NatsFormat
from cbnet_lab.bench.timing import cpu_meter

PREDICATE: Final = "x > 0"  # of the subscriber at routers
_CONTENT: Final[dict[str, Any]] = {"x": 1}
_PUBLISH_TIMEOUT = 60.0  # seconds
_SUBJECT, _INBOX, _STREAM = "bench", "_INBOX.bench", "BENCH"
_NAME = "bench"  # of the durable subscriptions
_PATIENT: dict[str, Any] = {"heartbeat": 10.0, "dead": 30.0, "silence": 60.0}  # a busy machine is not a failure
_WAIT = 20.0  # timeout for the next stored message, in seconds
_ANSWER_TIMEOUT = 60.0  # seconds
_READ = 1 << 18  # bytes
_BATCH = 64  # messages in a write


def number_of(payload: bytes) -> int:
    """Return the number of a message, with which its payload begins."""
    return int.from_bytes(payload[:8])


class RouterLink:
    """Messages through routers, answered when stored for durable subscriptions."""

    def __init__(self, publish_at: Address, subscriptions: int) -> None:
        """Connect; subscriptions: their number."""
        self._subscriptions, self._incarnation = subscriptions, secrets.randbits(63)
        client = RouterClient(RawLink(publish_at.port), "publisher")
        self.publisher = self.answers = client.link.socket
        self._reader = client.reader

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:
        """Return a `DurablePublish` frame; floor: the lowest number without an answer."""
        return encode(DurablePublish(self._incarnation, number, floor, _PUBLISH_TIMEOUT, _CONTENT, [], payload))

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of the stored messages in received bytes, in order of arrival."""
        for frame in self._reader.feed(data):
            if isinstance(frame, DurablePublished):
                if frame.subscriptions != self._subscriptions or frame.silent or frame.refused:
                    raise CbnetError(f"a message was not stored: {frame}")
                yield frame.sequence
            elif isinstance(frame, DurablePublishedRun):
                if frame.subscriptions != self._subscriptions:
                    raise CbnetError(f"messages were not stored: {frame}")
                yield from range(frame.first, frame.first + frame.messages)


class NatsLink:
    """Messages to a nats-server, answered when stored in a stream."""

    def __init__(self, port: int) -> None:
        """Create the stream, and connect."""
        run_async(_add_stream(port))
        self._rest, format = b"", NatsFormat(f"{_INBOX}.*")
        publisher, subscriber = RawLink(port), RawLink(port)
        format.open_publisher(publisher, 0)
        format.open_subscriber(subscriber, 1)
        self.publisher, self.answers = publisher.socket, subscriber.socket

    def publication(self, number: int, floor: int, payload: bytes) -> bytes:  # noqa: ARG002
        """Return a PUB frame with a reply subject."""
        return f"PUB {_SUBJECT} {_INBOX}.{number} {len(payload)}\r\n".encode() + payload + b"\r\n"

    def answered(self, data: bytes) -> Iterator[int]:
        """Yield the numbers of stored messages; answer a ping."""
        data, start = self._rest + data, 0
        while (end := data.find(b"\r\n", start)) >= 0:
            head, following = data[start:end], end + 2
            if head.startswith(b"MSG "):
                _, subject, *_, size = head.split()
                following += int(size) + 2
                if following > len(data):
                    break
                payload = data[end + 2 : following - 2]
                if b'"error"' in payload:
                    raise CbnetError(f"nats-server: {payload.decode()}")
                yield int(subject.rpartition(b".")[2])
            elif head == b"PING":
                self.answers.sendall(b"PONG\r\n")
            elif head.startswith(b"-ERR"):
                raise CbnetError(f"nats-server: {head.decode()}")
            start = following
        self._rest = data[start:]


PublishingLink = RouterLink | NatsLink  # `publisher` and `answers` are the sockets to write to and to read from


def jetstream_server(*, is_synced: bool = False) -> AbstractContextManager[ServerProcess]:
    """Return a nats-server that stores its streams in its folder; is_synced: before it answers."""
    (port,) = free_ports(1)
    sync = ", sync_interval: always" if is_synced else ""
    files = {"nats.conf": f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "."{sync} }}\n'}
    return running_server(ServerSetup((nats_program(), "-c", "nats.conf"), files), port)


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
                numbers.append(number_of((await consumer.next_msg(_WAIT)).data))
        except nats.errors.TimeoutError:  # no more messages
            pass
        await client.close()
        return numbers

    return run_async(read())


@dataclass(frozen=True, kw_only=True)
class PublishingResult:
    """Measurements of one method of publishing."""

    name: str = shown("server")
    servers: int
    subscriptions: int = shown("subscriptions")  # that match all messages
    messages_per_s: int = shown("messages/s")  # of the best round
    cpu_us_per_message: float = shown("CPU µs/message")  # of all servers, in the best round
    p50_ms: float = shown("p50 ms")  # of messages sent one at a time
    p99_ms: float = shown("p99 ms")
    loaded_p50_ms: float = shown("p50 ms of many")  # with many messages in flight
    read_us_per_message: float = shown("to read")  # processor time of all servers to deliver and acknowledge it
    bytes_per_message: float | None = shown("bytes on disk")
    messages: int
    problem: str | None


@dataclass
class AcknowledgedRival:
    """One method of publishing, and its measurements."""

    name: str
    link: PublishingLink
    pids: Sequence[int]  # of the servers
    stored: Callable[[int], list[int]]  # reads this many messages, and returns their numbers
    subscriptions: int = 1
    folder: Path | None = None  # where they are stored
    published: int = 0
    speeds: list[float] = field(default_factory=list)  # messages per second of each round
    cpu_us: list[float] = field(default_factory=list)  # per message, of each round
    loaded: list[float] = field(default_factory=list)  # latencies in ms, with many messages in flight
    latencies: list[float] = field(default_factory=list)  # in ms, of messages sent one at a time

    def run(self, plan: DurablePlan) -> None:
        """Measure one round: many messages in flight, then one at a time."""
        cpu, began = cpu_meter(self.pids), time.perf_counter()
        self.loaded += self._publish(plan.messages, plan.window, plan.payload_bytes)
        self.speeds.append(plan.messages / (time.perf_counter() - began))
        self.cpu_us.append(sum(cpu()) * 1e6 / plan.messages)
        self.latencies += self._publish(plan.probes, 1, plan.payload_bytes)

    def _publish(self, count: int, window: int, size: int) -> list[float]:
        """Publish messages, at most `window` of them unanswered; return the latency of each answer in ms."""
        link, following, end = self.link, self.published + 1, self.published + 1 + count
        sent: dict[int, float] = {}
        latencies: list[float] = []
        while len(latencies) < count:
            room = min(window - len(sent), end - following, _BATCH)
            if room:
                floor = next(iter(sent), following)
                numbers = range(following, following + room)
                payloads = (number.to_bytes(8).ljust(size, b".") for number in numbers)
                frames = b"".join(map(link.publication, numbers, [floor] * room, payloads))
                sent.update(dict.fromkeys(numbers, time.perf_counter()))
                following += room
                link.publisher.sendall(frames)
            is_waiting = len(sent) == window or following == end
            if not select.select([link.answers], [], [], _ANSWER_TIMEOUT if is_waiting else 0)[0]:
                if is_waiting:
                    raise CbnetError(f"no answer for {_ANSWER_TIMEOUT:g} s; {len(sent)} messages have none")
                continue
            data = link.answers.recv(_READ)
            if not data:
                raise CbnetError("the server closed the connection")
            now = time.perf_counter()
            latencies += [1000 * (now - sent.pop(number)) for number in link.answered(data)]
        self.published += count
        return latencies

    def close(self) -> None:
        """Close the connections."""
        self.link.publisher.close()
        self.link.answers.close()

    def result(self) -> PublishingResult:
        """Read back all messages, and return the measurements."""
        numbers = list(range(1, self.published + 1))
        files = [] if self.folder is None else [*self.folder.rglob("journal.sqlite*")]
        cpu = cpu_meter(self.pids)
        stored = self.stored(self.published)
        read = sum(cpu()) * 1e6 / self.published
        wrong = f"{self.name}: {len(stored):,} of {self.published:,} messages stored, or not in order"
        return PublishingResult(
            name=self.name,
            servers=len(self.pids),
            subscriptions=self.subscriptions,
            messages_per_s=round(max(self.speeds)),
            cpu_us_per_message=min(self.cpu_us),
            p50_ms=float(np.percentile(self.latencies, 50)),
            p99_ms=float(np.percentile(self.latencies, 99)),
            loaded_p50_ms=float(np.percentile(self.loaded, 50)),
            read_us_per_message=read,
            bytes_per_message=sum(path.stat().st_size for path in files) / self.published if files else None,
            messages=self.published,
            problem=None if stored == numbers else wrong,
        )


def run(plan: DurablePlan, report: Report) -> Iterator[PublishingResult]:
    """Measure all methods in turn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cbnet-bench-")))
        rivals = [_routers(stack, 1, folder / str(count), count) for count in plan.subscriptions]
        rivals.append(_routers(stack, 3, folder / "chain"))
        rivals.append(_routers(stack, 1, stack.enter_context(PostgresServer()).uri))
        rivals += _nats(stack)
        for rival in rivals:
            stack.callback(rival.close)
        for number in range(plan.rounds):
            for rival in rivals:
                report(f"round {number + 1} of {plan.rounds}: {rival.name}")
                rival.run(plan)
        for rival in rivals:
            report(f"checking {rival.name}")
            yield rival.result()


def tables(plan: DurablePlan, rows: Sequence[PublishingResult]) -> Iterator[str | ResultTable[PublishingResult]]:
    """Yield the speed and latency of each method."""
    yield f"{SERVERS['nats'].version()}: answers before it syncs its file, unless synced"
    title = f"{plan.messages:,} messages of {plan.payload_bytes:,} bytes, one or {plan.window} in flight"
    yield ResultTable(f"{title}, best of {plan.rounds} rounds", rows, shown_columns(PublishingResult))


def _routers(stack: ExitStack, size: int, journals: Path | str, subscriptions: int = 1) -> AcknowledgedRival:
    """Start routers in a chain, with durable subscriptions at the last one."""
    names = "abc"[:size]
    settings = [Settings(name, **_PATIENT) for name in names]
    network = stack.enter_context(ProcessNetwork(settings, list(pairwise(names)), journals=journals))
    network.wait()
    first, last = (network.addresses[name] for name in (names[0], names[-1]))
    with connect(str(last)) as client:
        for number in range(subscriptions):
            client.subscribe(PREDICATE, durable=f"{_NAME}-{number}", wait=number == subscriptions - 1)
    return AcknowledgedRival(
        name=f"cbnet, {plural(size, 'router')}{', PostgreSQL' if isinstance(journals, str) else ''}",
        link=RouterLink(first, subscriptions),
        pids=[*network.pids.values()],
        stored=partial(_stored, str(last)),
        subscriptions=subscriptions,
        folder=journals if isinstance(journals, Path) else None,
    )


def _stored(address: str, count: int) -> list[int]:
    """Return the numbers of the messages stored for the durable subscription."""
    numbers: list[int] = []
    with connect(address) as client:
        subscription = client.subscribe("", durable=f"{_NAME}-0")
        while len(numbers) < count and (batch := subscription.take(timeout=_WAIT)):
            numbers += [number_of(delivery.payload) for delivery in batch]
            if isinstance(batch[-1], DurableDelivery):
                subscription.acknowledge_up_to(batch[-1].offset)
    return numbers


def _nats(stack: ExitStack) -> Iterator[AcknowledgedRival]:
    for is_synced in (False, True):
        server = stack.enter_context(jetstream_server(is_synced=is_synced))
        yield AcknowledgedRival(
            name=f"JetStream, 1 server{', synced' if is_synced else ''}",
            link=NatsLink(server.port),
            pids=[server.pid],
            stored=partial(stored_in_stream, server.port),
        )
