"""Queue of published frames for the thread of a blocking client.

`publish` does not wait for that thread: frames that are published in a loop are sent together.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

from cbnet.network.client.async_client import AsyncClient
from cbnet.network.errors import NetworkError

_MAX_SIZE = 1 << 20  # bytes


class OutgoingFrames:
    """The frames of one client, in order."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._frames: list[bytes] = []
        self._is_scheduled = False
        self._waiting: asyncio.Task[None] | None = None  # sends when the router reads again
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether the publisher must wait until the queued frames are sent."""
        return self._size > _MAX_SIZE

    def put(self, data: bytes, client: AsyncClient) -> None:
        """Pass frames to the client's thread; may be called in any thread."""
        with self._lock:
            self._frames.append(data)
            self._size += len(data)
            is_first, self._is_scheduled = not self._is_scheduled, True
        if is_first:
            self._loop.call_soon_threadsafe(self._send_some, client)

    def _send_some(self, client: AsyncClient) -> None:
        """Send the buffered frames, now or when the router reads again."""
        with self._lock:
            self._is_scheduled = False
            if client.is_writable:
                client.send_frames(self._take())
            elif self._waiting is None or self._waiting.done():
                self._waiting = self._loop.create_task(self._send_later(client))

    async def _send_later(self, client: AsyncClient) -> None:
        with suppress(NetworkError):  # closed, or an hour without connection
            await self.send_all(client, timeout=3_600)

    async def send_all(self, client: AsyncClient, timeout: float) -> None:
        """Send the buffered frames, and wait until they are written to the socket."""
        await client.writable(timeout)
        with self._lock:
            client.send_frames(self._take())
        await client.writable(timeout)

    def _take(self) -> list[bytes]:
        taken, self._frames, self._size = self._frames, [], 0
        return taken
