"""Back-pressure: clients are not read while much is queued for a neighbour.

So publishers slow down to the speed of the slowest neighbour on the path, and nothing is dropped because this router
alone accepts messages too fast. A neighbour that reads nothing at all is not waited for: its link must be closed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from cbnet.network.transport.connection import Connection


class _Stall(NamedTuple):
    unsent: int  # bytes in the write buffer
    since: float


class BackPressure:
    """The neighbours with long queues, and the clients that are not read meanwhile."""

    def __init__(self) -> None:
        self._stalls: dict[Connection, _Stall] = {}
        self._paused: set[Connection] = set()

    @property
    def paused(self) -> Collection[Connection]:
        """The clients that are not read."""
        return self._paused

    def add(self, neighbour: Connection, now: float) -> None:
        """Register a neighbour with a long queue."""
        if neighbour not in self._stalls:
            self._stalls[neighbour] = _Stall(neighbour.unsent, now)

    def pause(self, client: Connection) -> None:
        """Stop reading a client that sends while a neighbour has a long queue."""
        if self._stalls:
            self._paused.add(client)
            client.pause_reading()

    def forget(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._paused.discard(connection)
        self.relieve(connection)

    def relieve(self, connection: Connection) -> None:
        """Remove a neighbour whose queue is empty; after the last one, read all clients again."""
        self._stalls.pop(connection, None)
        if not self._stalls:
            for client in self._paused:
                client.resume_reading()
            self._paused.clear()

    def stalled(self, now: float, timeout: float) -> list[Connection]:
        """Return the neighbours that have read nothing for `timeout` seconds."""
        stalled = []
        for connection, stall in self._stalls.items():
            if connection.unsent < stall.unsent:
                self._stalls[connection] = _Stall(connection.unsent, now)
            elif now - stall.since > timeout:
                stalled.append(connection)
        return stalled
