"""FairScheduler: how much does a router do for one client or neighbour before others are served?

Frames come in any number at once, and a message takes microseconds or, if it is long and much is asked for, some
hundredths of a second. So frames are done in parts; what has taken longer than `TURN` goes on when others were served.

What changes or shows the state of the router may take long, a subscription up to some tenths of a second, and very
many of them come in one piece. So these are done one by one; when a client has taken `TURN`, nothing more is done for
it, nor read from it, for as long as it took: it has at most half of the time, over however many links.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable
from time import thread_time

from cbnet.network.protocol.frames import AskStatus, Frame, Offer, Subscribe, Trace, Unsubscribe, Withdraw
from cbnet.network.transport.connection import Connection

TURN = 0.02  # seconds
PART = 16  # frames that are done before it is looked how long they took: with 10 µs for each, looking costs a hundredth
_LONG = frozenset({Subscribe, Unsubscribe, Offer, Withdraw, Trace, AskStatus})  # frames that may take long


class FairScheduler:
    """The frames that must wait for those of others."""

    def __init__(
        self,
        give: Callable[[Connection, list[Frame]], bool],
        end: Callable[[Connection], None],
        who: Callable[[Connection], Hashable],
    ) -> None:
        """Take what gives frames to the router, and says whether the connection is still there; and what ends one.

        who: returns the same for all connections of one client.
        """
        self._give = give
        self._end = end
        self._who = who
        self._waiting: dict[Connection, list[Frame]] = {}
        self._ended: set[Connection] = set()  # by the other side, before all that it sent was done
        self._paused: dict[Hashable, float] = {}  # until when nothing that may take long is done for a client
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
        self._paused.pop(connection, None)

    def _serve(self, connection: Connection, frames: list[Frame]) -> None:
        if not _LONG.isdisjoint(map(type, frames)):
            self._serve_slowly(connection, frames)
        elif len(frames) <= PART:
            self._give(connection, frames)
        else:
            self._serve_quickly(connection, frames)

    def _serve_quickly(self, connection: Connection, frames: list[Frame]) -> None:
        """Give frames in parts; when a turn is over, the rest follows as soon as others were served."""
        began = thread_time()
        for first in range(0, len(frames), PART):
            if not self._give(connection, frames[first : first + PART]):
                return
            rest = frames[first + PART :] if thread_time() - began > TURN else None
            if rest:
                self._wait(connection, rest, 0.0)
                return

    def _serve_slowly(self, connection: Connection, frames: list[Frame]) -> None:
        """Give frames one by one; when a turn is over, the client waits for as long as that took."""
        who = self._who(connection)
        pause = self._paused.pop(who, 0.0) - self._loop.time()
        if pause > 0:
            self._paused[who] = self._loop.time() + pause
            self._wait(connection, list(frames), pause)
            return
        began = thread_time()
        for done, frame in enumerate(frames, 1):
            if not self._give(connection, [frame]):
                return
            took = thread_time() - began
            if took > TURN:
                self._paused[who] = self._loop.time() + took
                self._wait(connection, frames[done:], took)
                return

    def _wait(self, connection: Connection, frames: list[Frame], seconds: float) -> None:
        self._waiting[connection] = frames
        connection.hold()
        self._loop.call_later(seconds, self._go_on, connection)

    def _go_on(self, connection: Connection) -> None:
        frames = self._waiting.pop(connection, None)
        if frames is None:
            return
        connection.release()
        self._serve(connection, frames)
        if connection in self._ended and connection not in self._waiting:
            self._ended.discard(connection)
            self._end(connection)
