"""HTTP clients of the door trial: event streams, WebSockets, one that never reads, and health checks."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import quote
from urllib.request import urlopen

import msgspec
import psutil
from websockets.asyncio.client import ClientConnection, connect

from cbnet.errors import CbnetError
from cbnet.network.protocol.addresses import Address

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


class RouterWatch:
    """Samples the memory of a router, and requests `/healthz` on a new connection each time, in a thread."""

    def __init__(self, pid: int, http: Address) -> None:
        self._process, self._url = psutil.Process(pid), f"http://{http}/healthz"
        self.before = self.peak = self.memory
        self.checks = self.failures = 0
        self.slowest = 0.0  # seconds of a health check

    @property
    def memory(self) -> int:
        """Bytes of the process in memory now."""
        return int(self._process.memory_info().rss)

    async def run(self) -> None:
        """Sample until the task is cancelled."""
        while True:
            self.peak = max(self.peak, self.memory)
            await asyncio.to_thread(self._check)
            await asyncio.sleep(_INTERVAL)

    def _check(self) -> None:
        began = time.monotonic()
        self.checks += 1
        try:
            urlopen(self._url, timeout=_TIMEOUT).close()
        except OSError:  # also an answer that is not 200
            self.failures += 1
        self.slowest = max(self.slowest, time.monotonic() - began)
