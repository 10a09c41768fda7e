"""Flow control of packets between neighbours: credit, and senders that wait for long queues.

packets of a link ──► handled ──► credit for the link, unless it feeds a long queue
credit of a link  ──► its queued packets are sent ──► a queue is short again ──► its feeders resume
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from cbnet._kernels.packet_queues import PacketQueues
from cbnet.network.link.links import Link
from cbnet.network.protocol.frames import Credit, Frame, Ping
from cbnet.network.transport.back_pressure import BackPressure, Feed, Stalls
from cbnet.network.transport.connection import Connection


class PacketFlow:
    """Credit and back-pressure of all links of a router."""

    def __init__(
        self, links: Mapping[Connection, Link], mark: int, resume: Callable[[Connection], None]
    ) -> None:  # fmt: skip
        """Initialise with the open connections.

        mark: bytes of other frames queued for a neighbour above which clients that feed it are blocked; resume: called
        to resume such a client.
        """
        self._links = links
        self._mark = mark
        self._resume = resume
        self._pressure = BackPressure()
        self._stalls = Stalls()

    def is_blocked(self, client: Connection) -> bool:
        """Return whether a client has fed a queue that is still long."""
        return self._pressure.is_blocked(Feed(client, 0))

    def sent(self, connection: Connection, cause: Connection | None) -> None:
        """Block the sender of frames that were added to a long queue, if the sender is known (`cause`)."""
        fed = _queues(connection).take_fed()
        if cause is None or cause not in self._links or connection not in self._links:
            return
        is_for_router, is_of_router = self._links[connection].is_router, self._links[cause].is_router
        for hops in fed:
            if is_of_router == (hops > 1):  # else the packet was committed again, or comes from another domain
                self._pressure.block(Feed(connection, hops), Feed(cause, hops - 1))
                if is_of_router:
                    _queues(cause).withhold(hops - 1, True)
        if connection.buffer.size > self._mark and is_for_router and not is_of_router:
            self._pressure.block(Feed(connection, 0), Feed(cause, 0))

    def received(self, connection: Connection, frames: list[Frame]) -> list[Frame]:
        """Apply the credit among the frames of a neighbour; return the other frames."""
        if any(type(frame) is not Ping for frame in frames):
            self._stalls.answered(connection)
        others: list[Frame] = []
        for frame in frames:
            if isinstance(frame, Credit):
                _queues(connection).grant(frame.hops, frame.limit)
            else:
                others.append(frame)
        if len(others) < len(frames):
            self._release(connection)
        return others

    def forwarded(self, connection: Connection) -> None:
        """Grant credit for packets that the fast path has handled."""
        self._stalls.answered(connection)
        self.handled(connection)

    def handled(self, connection: Connection) -> None:
        """Grant a neighbour more credit for each class in which enough packets were handled."""
        for hops, limit in _queues(connection).take_grants():
            connection.send(Credit(hops, limit))

    def relieved(self, connection: Connection) -> None:
        """Send queued packets to a peer that reads again."""
        self._go_on(self._pressure.relieve(Feed(connection, 0)))
        self._release(connection)

    def forget(self, connection: Connection) -> None:
        """Remove a closed connection, and resume the senders that it blocked."""
        self._stalls.answered(connection)
        self._go_on(self._pressure.forget(connection))

    def stalled(self, now: float, timeout: float) -> list[Connection]:
        """Return the neighbours that have read nothing for `timeout` seconds, although frames are queued for them."""
        neighbours = (connection for connection, link in self._links.items() if link.is_router)
        return self._stalls.check(neighbours, now, timeout)

    def _release(self, connection: Connection) -> None:
        connection.release()
        for hops in _queues(connection).take_relieved():
            self._go_on(self._pressure.relieve(Feed(connection, hops)))

    def _go_on(self, feeders: Iterable[Feed]) -> None:
        for feeder in feeders:
            if feeder.hops:
                _queues(feeder.connection).withhold(feeder.hops, False)
                self.handled(feeder.connection)
            else:
                self._resume(feeder.connection)


def _queues(connection: Connection) -> PacketQueues:
    assert connection.queues is not None
    return connection.queues
