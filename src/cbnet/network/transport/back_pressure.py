"""Back-pressure: who has fed which long queue, and must wait until it is short again.

    client      ──► queue of class 1 for a neighbour        the client is not read
    neighbour,
    class h     ──► queue of class h+1 for another one      the neighbour gets no more credit for class h

The class of a packet is the number of its hops; that of clients is 0. So who waits has a lower class than the queue,
and no cycle can arise: `docs/explanation/network.md`.
"""

from __future__ import annotations

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
