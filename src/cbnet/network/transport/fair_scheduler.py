"""Fair scheduling of frames between the clients and neighbours of a router.

Frames arrive in batches of any size. A message takes microseconds or, if it is long and the table large, some
hundredths of a second. So frames are processed in small batches; after `TIME_SLICE` seconds the rest waits until the
other connections have been served. A nested message, or an announcement of many filters, may take most of a second, so
they are processed one by one.

Frames that change or query the router's state are slow, a subscription up to some tenths of a second, and thousands may
arrive together. They are processed one by one; after `TIME_SLICE` seconds the client is paused, and nothing is read
from it, for as long as its frames took: a client gets at most half of the processor time, over all its links.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable
from time import thread_time

from cbnet.network.protocol.frames import (
    Announce,
    Frame,
    OfferFrame,
    StatusRequest,
    Subscribe,
    Trace,
    Unsubscribe,
    Withdraw,
)
from cbnet.network.transport.connection import Connection

TIME_SLICE = 0.02  # seconds
BATCH = 16  # frames between two readings of the clock: at 10 µs per frame, the clock costs 1 %
_SLOW = frozenset({Subscribe, Unsubscribe, OfferFrame, Withdraw, Trace, StatusRequest})


class FairScheduler:
    """Processes frames, and queues those of connections that have used up their time."""

    def __init__(
        self,
        process: Callable[[Connection, list[Frame]], bool],
        close: Callable[[Connection], None],
        client_of: Callable[[Connection], Hashable],
    ) -> None:
        """Initialise with the callbacks.

        process: passes frames to the router; returns whether the connection is still open.
        close: called when a closed connection has no frames left. client_of: the same for all connections of a client.
        """
        self._process = process
        self._close = close
        self._client_of = client_of
        self._waiting: dict[Connection, list[Frame]] = {}
        self._closed: set[Connection] = set()  # by the peer, with frames left to process
        self._paused: dict[Hashable, float] = {}  # client -> time until which its slow frames wait
        self._loop = asyncio.get_running_loop()

    @property
    def waiting(self) -> Collection[Connection]:
        """The connections whose frames wait."""
        return self._waiting.keys()

    def add(self, connection: Connection, frames: list[Frame]) -> None:
        """Process frames in order, some of them now."""
        waiting = self._waiting.get(connection)
        if waiting is not None:
            waiting.extend(frames)
        else:
            self._serve(connection, frames)

    def defer_close(self, connection: Connection) -> bool:
        """Return whether a connection that the peer closed has frames left; if so, `close` is called after them."""
        if connection in self._waiting:
            self._closed.add(connection)
            return True
        return False

    def forget(self, connection: Connection) -> None:
        """Discard the queued frames of a connection."""
        self._waiting.pop(connection, None)
        self._closed.discard(connection)
        self._paused.pop(connection, None)

    def _serve(self, connection: Connection, frames: list[Frame]) -> None:
        if not _SLOW.isdisjoint(map(type, frames)):
            self._serve_slow(connection, frames)
            return
        batch = 1 if connection.has_nested or Announce in map(type, frames) else BATCH
        if len(frames) <= batch:
            self._process(connection, frames)
        else:
            self._serve_fast(connection, frames, batch)

    def _serve_fast(self, connection: Connection, frames: list[Frame], batch: int) -> None:
        """Process frames in batches; when the time slice is over, the rest waits for other connections."""
        began = thread_time()
        for first in range(0, len(frames), batch):
            if not self._process(connection, frames[first : first + batch]):
                return
            rest = frames[first + batch :] if thread_time() - began > TIME_SLICE else None
            if rest:
                self._wait(connection, rest, 0.0)
                return

    def _serve_slow(self, connection: Connection, frames: list[Frame]) -> None:
        """Process frames one by one; when the time slice is over, pause the client for as long as they took."""
        client = self._client_of(connection)
        pause = self._paused.pop(client, 0.0) - self._loop.time()
        if pause > 0:
            self._paused[client] = self._loop.time() + pause
            self._wait(connection, list(frames), pause)
            return
        began = thread_time()
        for done, frame in enumerate(frames, 1):
            if not self._process(connection, [frame]):
                return
            took = thread_time() - began
            if took > TIME_SLICE:
                self._paused[client] = self._loop.time() + took
                self._wait(connection, frames[done:], took)
                return

    def _wait(self, connection: Connection, frames: list[Frame], seconds: float) -> None:
        self._waiting[connection] = frames
        connection.pause_reading()
        self._loop.call_later(seconds, self._resume, connection)

    def _resume(self, connection: Connection) -> None:
        frames = self._waiting.pop(connection, None)
        if frames is None:
            return
        connection.resume_reading()
        self._serve(connection, frames)
        if connection in self._closed and connection not in self._waiting:
            self._closed.discard(connection)
            self._close(connection)
