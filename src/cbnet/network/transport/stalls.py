"""Neighbours that read nothing although something waits for them: their links must be closed.

A neighbour that reads slowly, or grants credit slowly, is not stalled: it sends other frames than unasked Pings, at
least the answers to those of this side, or a full write buffer becomes shorter. A router that is dead sends nothing:
its link is closed much earlier (`links`). So this is about one that is alive, but faulty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cbnet.network.transport.connection import Connection


class _Stall(NamedTuple):
    left: int  # bytes that have left the write buffer
    since: float


class Stalls:
    """The neighbours for which something waits, and since when there is no sign that they read."""

    def __init__(self) -> None:
        self._stalls: dict[Connection, _Stall] = {}

    def answered(self, connection: Connection) -> None:
        """Record a frame of a neighbour that shows that it reads."""
        self._stalls.pop(connection, None)

    def check(self, connections: Iterable[Connection], now: float, timeout: float) -> list[Connection]:
        """Return those for which something waits and that have read nothing for `timeout` seconds."""
        stalls, self._stalls = self._stalls, {}
        for connection in connections:
            if connection.waiting:
                stall, left = stalls.get(connection), connection.traffic.sent - connection.unsent
                reads = connection.unsent > 0 and stall is not None and stall.left != left
                self._stalls[connection] = _Stall(left, now) if stall is None or reads else stall
        return [connection for connection, stall in self._stalls.items() if now - stall.since > timeout]
