"""Processor time of a client's process per message, for each method of publishing and receiving.

The client is connected to a peer that takes the place of a router, in a separate process, so that only the client is
measured. Every message that the peer receives is checked. For messages that the client receives, their number is
checked, and the content of all that it reads.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from cbnet.errors import CbnetError
from cbnet.network.client.async_client import AsyncClient, connect_async
from cbnet.network.client.async_subscription import Delivery
from cbnet.network.client.blocking_client import Client, connect
from cbnet.network.protocol.frames import Deliver, Frame, Hello, Ping, Pong, Publish, Published, Subscribe, Subscribed
from cbnet.network.protocol.wire import FrameReader, encode
from cbnet.network.transport.event_loop import run as run_async
from cbnet_lab.bench.plans import ClientsPlan, Report
from cbnet_lab.bench.processes import SPAWN, WorkerProcess
from cbnet_lab.bench.result_table import ResultTable

_POOL = 500  # different messages
_PAYLOAD = bytes(100)
_READ = 1 << 18  # bytes
_TIMEOUT = 60.0  # seconds; the peer may be slower than the client
_HELLO = Hello(low=5, high=5, role="router", name="peer", network="cbnet", incarnation=1, link=1, scheme="multitree")
_CONTENTS: list[dict[str, Any]] = [{"dest": "MXP", "price": number, "seat": f"s{number}"} for number in range(_POOL)]


@dataclass(frozen=True)
class ClientSpeed:
    """Processor time of one method of publishing or receiving."""

    way: str
    client: str  # asyncio or synchronous
    messages: int
    cpu_us_per_message: float  # in the best round
    rounds_cpu_us_per_message: list[float]


def run(plan: ClientsPlan, report: Report) -> Iterator[ClientSpeed]:
    """Measure every method in several rounds, all in one process apart from this one."""
    with ProcessPoolExecutor(1, SPAWN) as executor:
        for way, client in WAYS:
            report(f"{way}, {client}")
            cpu_us = [_round(executor, way, client, plan.messages) for _ in range(plan.rounds)]
            yield ClientSpeed(way, client, plan.messages, min(cpu_us), cpu_us)


def tables(plan: ClientsPlan, rows: Sequence[ClientSpeed]) -> Iterator[ResultTable[ClientSpeed]]:
    """Yield the processor time of each method."""
    yield ResultTable(f"Processor time of a client, {plan.messages:,} messages, best of {plan.rounds} rounds", rows, {
        "way": "way",
        "client": "client",
        "µs / message": "cpu_us_per_message",
        "messages / processor second": lambda row: 1e6 / row.cpu_us_per_message,
    })  # fmt: skip


def _round(executor: Executor, way: str, client: str, messages: int) -> float:
    """Return the µs of processor time per message."""
    with closing(WorkerProcess("the peer of the client", _serve, messages)) as peer:
        seconds = executor.submit(_CLIENTS[client], way, f"127.0.0.1:{peer.receive()}", messages).result()
        published, expected = peer.receive(), messages if way in _PUBLISHING else 0
    if published != expected:
        raise CbnetError(f"the client published {published:,} messages instead of {expected:,}")
    return 1e6 * seconds / messages


# --- the clients


def _publish(client: AsyncClient | Client, messages: int) -> Iterator[Any]:
    """Publish messages one by one, the last with an answer; yield each result, which an asyncio client awaits."""
    for number in range(messages - 1):
        yield client.publish(_CONTENTS[number % _POOL], _PAYLOAD, timeout=_TIMEOUT)
    yield client.publish(_CONTENTS[(messages - 1) % _POOL], _PAYLOAD, wait=True, timeout=_TIMEOUT)


def _publish_many(client: AsyncClient | Client, messages: int) -> Iterator[Any]:
    """Publish messages in batches, the last with an answer; yield each result."""
    for first in range(0, messages - 1, _POOL):
        count = min(_POOL, messages - 1 - first)
        yield client.publish_many(_CONTENTS[:count], [_PAYLOAD] * count, timeout=_TIMEOUT)
    yield client.publish(_CONTENTS[(messages - 1) % _POOL], _PAYLOAD, wait=True, timeout=_TIMEOUT)


async def _receive_async(client: AsyncClient, messages: int, *, in_batches: bool, is_read: bool) -> None:
    subscription, received = await client.subscribe("true", timeout=_TIMEOUT), 0
    async for each in subscription.batches() if in_batches else subscription:
        received = _check(each, received, is_read=is_read)
        if received >= messages:
            return


def _receive(client: Client, messages: int, *, in_batches: bool, is_read: bool) -> None:
    subscription, received = client.subscribe("true", timeout=_TIMEOUT), 0
    for each in subscription.batches() if in_batches else subscription:
        received = _check(each, received, is_read=is_read)
        if received >= messages:
            return


def _check(deliveries: list[Delivery] | Delivery, first: int, *, is_read: bool) -> int:
    """Check that messages, or only the first, are those numbered from `first` on; return the next number."""
    batch = deliveries if isinstance(deliveries, list) else [deliveries]
    for number, delivery in enumerate(batch if is_read else batch[:1], first):
        if delivery.message["price"] != number % _POOL:
            raise CbnetError(f"message {number:,} is {delivery.message}")
    return first + len(batch)


def _run_async(way: str, address: str, messages: int) -> float:
    async def measure() -> float:
        async with await connect_async(address, timeout=_TIMEOUT) as client:
            before = time.process_time()
            if way in _PUBLISHING:
                for publishing in _PUBLISHING[way](client, messages):
                    await publishing
            else:
                await _receive_async(client, messages, **_RECEIVING[way])
            return time.process_time() - before

    return run_async(measure())


def _run(way: str, address: str, messages: int) -> float:
    with connect(address, timeout=_TIMEOUT) as client:
        before = time.process_time()
        if way in _PUBLISHING:
            for _ in _PUBLISHING[way](client, messages):
                pass
        else:
            _receive(client, messages, **_RECEIVING[way])
        return time.process_time() - before


_PUBLISHING: Final = {"publish": _publish, "publish_many": _publish_many}
_RECEIVING: Final = {
    "iterate, read": {"in_batches": False, "is_read": True},
    "batches, read": {"in_batches": True, "is_read": True},
    "batches, counted": {"in_batches": True, "is_read": False},
}
_CLIENTS: Final = {"asyncio": _run_async, "synchronous": _run}
WAYS: Final = [(way, client) for way in (*_PUBLISHING, *_RECEIVING) for client in _CLIENTS]


# --- the peer


def _serve(pipe: Connection, messages: int) -> None:
    """Serve one client, and deliver messages to it if it subscribes.

    Send the port to the pipe and, when the client closes its connection, the number of messages that it published.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pipe.send(listener.getsockname()[1])
        link, _ = listener.accept()
    link.settimeout(_TIMEOUT)
    link.sendall(encode(_HELLO))
    published = 0
    for frame in _frames(link):
        if isinstance(frame, Publish):
            if (frame.attributes, frame.payload) != (_CONTENTS[published % _POOL], _PAYLOAD):
                raise CbnetError("it received another message than was published")
            published += 1
            if frame.wants_answer:
                link.sendall(encode(Published(frame.number)))
        elif isinstance(frame, Subscribe):
            blocks = _deliveries(frame.id, messages)  # all encoded before the client is measured
            link.sendall(encode(Subscribed(frame.id, True, 1, [])))
            for block in blocks:
                link.sendall(block)
    pipe.send(published)


def _frames(link: socket.socket) -> Iterator[Frame]:
    """Yield the frames of the client; answer its pings."""
    reader = FrameReader()
    while data := _received(link):
        for frame in reader.feed(data):
            if isinstance(frame, Ping):
                link.sendall(encode(Pong(frame.number)))
            else:
                yield frame


def _received(link: socket.socket) -> bytes:
    """Return received bytes, or none at the end; a client with its answer may close before it reads the last pong."""
    try:
        return link.recv(_READ)
    except ConnectionResetError:
        return b""


def _deliveries(subscription: int, messages: int) -> list[bytes]:
    """Return the frames of all messages, in blocks."""
    frames = [
        encode(Deliver([subscription], "peer", 1, number + 1, _CONTENTS[number % _POOL], [], _PAYLOAD))
        for number in range(messages)
    ]
    return [b"".join(frames[first : first + _POOL]) for first in range(0, messages, _POOL)]
