"""Turns: how much does a router do for one client before others are served?

Messages take microseconds, and come in any number at once. A subscription may take long, up to some tenths of a second,
and very many of them come in one piece. So these are done one by one; when a client has taken `TURN`, nothing more is
done for it, nor read from it, for as long as it took: it has at most half of the time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from time import thread_time

from cbnet.network.connection import Connection
from cbnet.network.frames import Frame, Offer, Subscribe, Trace, Unsubscribe, Withdraw

TURN = 0.02  # seconds
_LONG = frozenset({Subscribe, Unsubscribe, Offer, Withdraw, Trace})  # frames that may take long


class Turns:
    """The frames of clients that must wait for others."""

    def __init__(self, give: Callable[[Connection, list[Frame]], bool], end: Callable[[Connection], None]) -> None:
        """Take what gives frames to the router, and says whether the connection is still there; and what ends one."""
        self._give = give
        self._end = end
        self._waiting: dict[Connection, list[Frame]] = {}
        self._ended: set[Connection] = set()  # by the other side, before all that it sent was done
        self._loop = asyncio.get_running_loop()

    @property
    def late(self) -> Collection[Connection]:
        """The connections from which nothing is taken now."""
        return self._waiting.keys()

    def take(self, connection: Connection, frames: list[Frame]) -> None:
        """Give frames to the router, in their order; some of them now."""
        waiting = self._waiting.get(connection)
        if waiting is not None:
            waiting.extend(frames)
        elif _LONG.isdisjoint(map(type, frames)):
            self._give(connection, frames)
        else:
            self._serve(connection, frames)

    def ended(self, connection: Connection) -> bool:
        """Take note that the other side has ended a connection; return whether something of it must still be done."""
        if connection in self._waiting:
            self._ended.add(connection)
            return True
        return False

    def forget(self, connection: Connection) -> None:
        """Drop what a connection has waiting."""
        self._waiting.pop(connection, None)
        self._ended.discard(connection)

    def _serve(self, connection: Connection, frames: list[Frame]) -> None:
        began = thread_time()
        for done, frame in enumerate(frames, 1):
            if not self._give(connection, [frame]):
                return
            took = thread_time() - began
            if took > TURN:
                self._waiting[connection] = frames[done:]
                connection.hold()
                self._loop.call_later(took, self._go_on, connection)
                return

    def _go_on(self, connection: Connection) -> None:
        frames = self._waiting.pop(connection, None)
        if frames is None:
            return
        connection.release()
        self._serve(connection, frames)
        if connection in self._ended and connection not in self._waiting:
            self._ended.discard(connection)
            self._end(connection)
