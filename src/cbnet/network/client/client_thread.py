"""The thread of a blocking client: an event loop that runs its coroutines, and the frames published for it.

`publish` does not wait for the thread: frames that are published in a loop are sent together.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from cbnet.network.client.client_link import ClientLink
from cbnet.network.errors import NetworkError, NotConnected
from cbnet.network.transport.event_loop import new_loop

_MAX_SIZE = 1 << 20  # bytes
Result = TypeVar("Result")


class ClientThread:
    """A thread that runs until `stop`; `call` may be called in any other thread."""

    def __init__(self) -> None:
        self.loop = new_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="cbnet-client", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not been stopped."""
        return self._thread.is_alive()

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the thread and return its result."""
        if not self._thread.is_alive():
            coroutine.close()
            raise NotConnected("the client is closed")
        future: Future[Result] = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class OutgoingFrames:
    """The published frames of one client, in order, until its thread sends them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, link: ClientLink) -> None:
        self._loop = loop
        self._link = link
        self._lock = threading.Lock()
        self._frames: list[bytes] = []
        self._is_scheduled = False
        self._waiting: asyncio.Task[None] | None = None  # sends when the router reads again
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether the publisher must wait until the queued frames are sent."""
        return self._size > _MAX_SIZE

    def put(self, data: bytes) -> None:
        """Pass frames to the client's thread; may be called in any thread."""
        with self._lock:
            self._frames.append(data)
            self._size += len(data)
            is_first, self._is_scheduled = not self._is_scheduled, True
        if is_first:
            self._loop.call_soon_threadsafe(self._send_some)

    def _send_some(self) -> None:
        """Send the queued frames, now or when the router reads again."""
        with self._lock:
            self._is_scheduled = False
            if self._link.is_writable:
                self._send_queued()
            elif self._waiting is None or self._waiting.done():
                self._waiting = self._loop.create_task(self._send_later())

    async def _send_later(self) -> None:
        with suppress(NetworkError):  # closed, or an hour without connection
            await self.send_all(timeout=3_600)

    async def send_all(self, timeout: float) -> None:
        """Send the queued frames, and wait until they are written to the socket."""
        await self._link.writable(timeout)
        with self._lock:
            self._send_queued()
        await self._link.writable(timeout)

    def _send_queued(self) -> None:
        queued, self._frames, self._size = self._frames, [], 0
        for data in queued:
            self._link.send_bytes(data)
