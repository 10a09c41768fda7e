"""HTTP clients of the door trial: event streams, WebSockets, one that never reads, and health checks."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote
from urllib.request import urlopen

import msgspec
import psutil
from websockets.asyncio.client import ClientConnection, connect

from cbnet.errors import CbnetError
from cbnet.network.protocol.addresses import Address
from cbnet_lab.bench.result_table import HIDDEN

_SMALL: Final = 4_096  # bytes that the kernel keeps for a client that never reads
_INTERVAL: Final = 0.1  # seconds between two health checks
_TIMEOUT: Final = 10.0  # seconds of a health check


async def event_stream(http: Address, predicate: str) -> AsyncIterator[dict[str, Any]]:
    """Subscribe with `GET /subscribe`; yield the data of events until the connection ends.

    Lines of the chunked encoding, between events, are passed over.
    """
    reader, writer = await asyncio.open_connection(*http)
    try:
        writer.write(f"GET /subscribe?predicate={quote(predicate)} HTTP/1.1\r\nHost: {http}\r\n\r\n".encode())
        while line := await reader.readline():
            if line.startswith(b"data: "):
                yield msgspec.json.decode(line[6:])
    finally:
        writer.close()


async def web_socket(http: Address, predicate: str) -> AsyncIterator[dict[str, Any]]:
    """Subscribe over a WebSocket; yield the objects that arrive until the connection ends."""
    async with connect(_url(http)) as link:
        await send(link, op="subscribe", id=1, predicate=predicate)
        async for text in link:
            yield msgspec.json.decode(text)


async def publisher(http: Address) -> ClientConnection:
    """Return a WebSocket that the router has welcomed."""
    link = await connect(_url(http))
    await answer(link, "welcome")
    return link


async def stalled_client(http: Address) -> ClientConnection:
    """Return a WebSocket that has subscribed to everything, with small buffers, and reads nothing more."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
    plain.setblocking(False)
    await asyncio.get_running_loop().sock_connect(plain, tuple(http))
    link = await connect(_url(http), sock=plain, max_queue=1, ping_interval=None, close_timeout=0)
    await send(link, op="subscribe", id=1, predicate="true")
    return link


async def send(link: ClientConnection, **members: Any) -> None:
    """Send an object."""
    await link.send(msgspec.json.encode(members), text=True)


async def answer(link: ClientConnection, op: str) -> None:
    """Wait for an answer, which must have this op."""
    members = msgspec.json.decode(await link.recv())
    if members["op"] != op:
        raise CbnetError(f"the router answered {members} instead of {op}")


def _url(http: Address) -> str:
    return f"ws://{http}/ws"


@dataclass
class RouterWatch:
    """Samples the memory of a router, and requests `/healthz` on a new connection each time, in a thread."""

    pid: int = field(metadata=HIDDEN)
    http: Address = field(metadata=HIDDEN)
    memory_before_mb: float = 0.0
    memory_connected_mb: float = 0.0  # when all have subscribed
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

    async def run(self) -> None:
        """Sample until the task is cancelled."""
        while True:
            self.memory_peak_mb = max(self.memory_peak_mb, self.memory_mb)
            await asyncio.to_thread(self._check)
            await asyncio.sleep(_INTERVAL)

    def _check(self) -> None:
        began = time.monotonic()
        self.health_checks += 1
        try:
            urlopen(f"http://{self.http}/healthz", timeout=_TIMEOUT).close()
        except OSError:  # also an answer that is not 200
            self.failures += 1
        self.slowest_health_ms = max(self.slowest_health_ms, 1000 * (time.monotonic() - began))
