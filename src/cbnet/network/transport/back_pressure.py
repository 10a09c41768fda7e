"""Back-pressure: who has fed which long queue, and must wait until it is short again.

    client      ──► queue of class 1 for a neighbour        the client is not read
    neighbour,
    class h     ──► queue of class h+1 for another one      the neighbour gets no more credit for class h

The class of a packet is the number of its hops; that of clients is 0. So who waits has a lower class than the queue,
and no cycle can arise: `docs/explanation/network.md`.

A neighbour that reads nothing although something waits for it would stop others for ever: its link must be closed. One
that reads slowly, or grants credit slowly, is not stalled: it sends other frames than unasked Pings, at least the
answers to those of this side, or a full write buffer becomes shorter. A router that is dead sends nothing: its link is
closed much earlier (`links`). So `Stalls` are about one that is alive, but faulty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cbnet.network.transport.connection import Connection


class Feed(NamedTuple):
    """A hop class of a link: its packets that arrive, or its queue of those that leave."""

    connection: Connection
    hops: int


class BackPressure:
    """The long queues, and who fed them since they are long."""

    def __init__(self) -> None:
        self._feeders: dict[Feed, set[Feed]] = {}  # by queue
        self._queues: dict[Feed, set[Feed]] = {}  # by feeder

    def block(self, queue: Feed, feeder: Feed) -> None:
        """Let the feeder of a long queue wait."""
        self._feeders.setdefault(queue, set()).add(feeder)
        self._queues.setdefault(feeder, set()).add(queue)

    def is_blocked(self, feeder: Feed) -> bool:
        """Return whether a feeder waits for a queue."""
        return feeder in self._queues

    def relieve(self, queue: Feed) -> list[Feed]:
        """Remove a queue that is not long any more; return the feeders that wait for no other one."""
        free = []
        for feeder in self._feeders.pop(queue, ()):
            waited_for = self._queues[feeder]
            waited_for.discard(queue)
            if not waited_for:
                del self._queues[feeder]
                free.append(feeder)
        return free

    def forget(self, connection: Connection) -> list[Feed]:
        """Remove a closed connection; return the feeders that wait for nothing else."""
        for feeder in [feeder for feeder in self._queues if feeder.connection is connection]:
            for queue in self._queues.pop(feeder):
                self._feeders[queue].discard(feeder)
        queues = [queue for queue in self._feeders if queue.connection is connection]
        return [feeder for queue in queues for feeder in self.relieve(queue)]


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
