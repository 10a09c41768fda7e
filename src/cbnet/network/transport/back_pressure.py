"""Back-pressure: senders that feed long queues, blocked until these queues are short again.

    client      ──► queue of class 1 for a neighbour        reading from the client is paused
    neighbour,
    class h     ──► queue of class h+1 for another one      the neighbour gets no more credit for class h

The class of a packet is its hop count; clients have class 0. A blocked sender therefore has a lower class than the
queue it waits for, and no cycle can arise: `docs/explanation/network.md`.

A neighbour that reads nothing although frames are queued for it would block others for ever, so its link must be
closed. A neighbour that reads or grants credit slowly is not stalled: it sends frames other than unsolicited Pings, at
least the answers to this side's Pings, or a full write buffer drains. A dead router sends nothing, and its link is
closed much earlier (`links`). `Stalls` therefore detects neighbours that are alive but faulty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cbnet.network.transport.connection import Connection


class Feed(NamedTuple):
    """A hop class of a link: its incoming packets, or its queue of outgoing packets."""

    connection: Connection
    hops: int


class BackPressure:
    """The long queues, and the feeders that have added to each since it became long."""

    def __init__(self) -> None:
        self._feeders: dict[Feed, set[Feed]] = {}  # by queue
        self._queues: dict[Feed, set[Feed]] = {}  # by feeder

    def block(self, queue: Feed, feeder: Feed) -> None:
        """Block the feeder of a long queue."""
        self._feeders.setdefault(queue, set()).add(feeder)
        self._queues.setdefault(feeder, set()).add(queue)

    def is_blocked(self, feeder: Feed) -> bool:
        """Return whether a feeder is blocked by a queue."""
        return feeder in self._queues

    def relieve(self, queue: Feed) -> list[Feed]:
        """Remove a queue that is no longer long; return the feeders that no other queue blocks."""
        free = []
        for feeder in self._feeders.pop(queue, ()):
            waited_for = self._queues[feeder]
            waited_for.discard(queue)
            if not waited_for:
                del self._queues[feeder]
                free.append(feeder)
        return free

    def forget(self, connection: Connection) -> list[Feed]:
        """Remove a closed connection; return the feeders that this unblocks."""
        for feeder in [feeder for feeder in self._queues if feeder.connection is connection]:
            for queue in self._queues.pop(feeder):
                self._feeders[queue].discard(feeder)
        queues = [queue for queue in self._feeders if queue.connection is connection]
        return [feeder for queue in queues for feeder in self.relieve(queue)]


class _Stall(NamedTuple):
    left: int  # bytes that have left the write buffer
    since: float


class Stalls:
    """Neighbours with queued frames, and the time since which they have shown no sign of reading."""

    def __init__(self) -> None:
        self._stalls: dict[Connection, _Stall] = {}

    def answered(self, connection: Connection) -> None:
        """Record a frame that shows that a neighbour reads."""
        self._stalls.pop(connection, None)

    def check(self, connections: Iterable[Connection], now: float, timeout: float) -> list[Connection]:
        """Return the connections with queued frames whose peers have read nothing for `timeout` seconds."""
        stalls, self._stalls = self._stalls, {}
        for connection in connections:
            if connection.waiting:
                stall, left = stalls.get(connection), connection.traffic.sent - connection.unsent
                reads = connection.unsent > 0 and stall is not None and stall.left != left
                self._stalls[connection] = _Stall(left, now) if stall is None or reads else stall
        return [connection for connection, stall in self._stalls.items() if now - stall.since > timeout]
