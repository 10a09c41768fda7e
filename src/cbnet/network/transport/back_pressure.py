"""Back-pressure between neighbours, by credit and by blocking senders, and memory budgets of queues for slow clients.

    client      ──► queue of class 1 for a neighbour        reading from the client is paused
    neighbour,
    class h     ──► queue of class h+1 for another one      the neighbour gets no more credit for class h

The class of a packet is its hop count; clients have class 0. So no cycle can arise: `docs/explanation/network.md`.

A neighbour that reads nothing although frames are queued for it would block others for ever, so its link must be
closed (`is_stalled`). One that reads or grants credit slowly is not stalled: it sends frames other than unsolicited
Pings, at least the answers to this side's Pings, or a full write buffer drains.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cbnet.network.protocol.frames import Credit, Frame, Ping
from cbnet.network.transport.connection import Connection
from cbnet.network.transport.fair_scheduler import FairScheduler


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


class PacketFlow:
    """Credit and back-pressure of all links of a router."""

    def __init__(self, scheduler: FairScheduler, mark: int) -> None:
        """Initialise; mark: bytes of other frames queued for a neighbour above which its clients' feeds are blocked."""
        self._scheduler = scheduler
        self._mark = mark
        self._pressure = BackPressure()

    def sent(self, connection: Connection, cause: Connection | None) -> None:
        """Block the sender of frames that were added to a long queue, if the sender is known (`cause`)."""
        fed = connection.output.take_fed()
        if cause is None or not cause.link.is_open or not connection.link.is_open:
            return
        is_for_router, is_of_router = connection.link.is_router, cause.link.is_router
        for hops in fed:
            if is_of_router == (hops > 1):  # else the packet was committed again, or comes from another domain
                self._block(Feed(connection, hops), Feed(cause, hops - 1))
        if connection.output.size > self._mark and is_for_router and not is_of_router:
            self._block(Feed(connection, 0), Feed(cause, 0))

    def received(self, connection: Connection, frames: list[Frame]) -> list[Frame]:
        """Apply the credit among the frames of a neighbour; return the other frames."""
        if any(type(frame) is not Ping for frame in frames):
            connection.link.stall = None
        others: list[Frame] = []
        for frame in frames:
            if isinstance(frame, Credit):
                connection.output.grant(frame.hops, frame.limit)
            else:
                others.append(frame)
        if len(others) < len(frames):
            self._release(connection)
        return others

    def handled(self, connection: Connection) -> None:
        """Grant a neighbour more credit for each class in which enough packets were handled."""
        for hops, limit in connection.output.take_grants():
            connection.send(Credit(hops, limit))

    def relieved(self, connection: Connection) -> None:
        """Send queued packets to a peer that reads again."""
        self._resume(self._pressure.relieve(Feed(connection, 0)))
        self._release(connection)

    def forget(self, connection: Connection) -> None:
        """Remove a closed connection, and resume the senders that it blocked."""
        self._resume(self._pressure.forget(connection))

    def _block(self, queue: Feed, feeder: Feed) -> None:
        self._pressure.block(queue, feeder)
        if feeder.hops:
            feeder.connection.output.withhold(feeder.hops, True)
        else:
            feeder.connection.link.is_blocked = True

    def _release(self, connection: Connection) -> None:
        connection.release()
        for hops in connection.output.take_relieved():
            self._resume(self._pressure.relieve(Feed(connection, hops)))

    def _resume(self, feeders: Iterable[Feed]) -> None:
        for connection, hops in feeders:
            if hops:
                connection.output.withhold(hops, False)
                self.handled(connection)
            else:
                connection.link.is_blocked = False
                self._scheduler.release(connection)


def is_stalled(connection: Connection, now: float, timeout: float) -> bool:
    """Return whether a peer has read nothing for `timeout` seconds, although frames are queued for it."""
    link = connection.link
    if not link.traffic.waiting:
        link.stall = None
        return False
    left = link.traffic.sent - connection.unsent
    if link.stall is None or (connection.unsent > 0 and link.stall[0] != left):
        link.stall = left, now
    return now - link.stall[1] > timeout


# --- slow clients


class QueueBudget:
    """The budgets of one router for messages queued for slow clients, in bytes: of each account, and of the router.

    The longest queues are cut first, all to the same level:

        bytes     16   9   3   1
        level 7    7   7   3   1      the highest that stays within a budget of 18

    A client that chose to be disconnected instead of losing messages is disconnected.
    """

    def __init__(self, each: int, account: int, total: int) -> None:
        """Initialise with the maximum bytes of each queue, of the queues of an account, and of all queues."""
        self._each = each
        self._account = account
        self.total = total
        self._cut: set[Connection] = set()  # connections with lowered limits

    def enforce(self, clients: Iterable[Connection]) -> None:
        """Cut the longest queues as far as the budgets require."""
        slow = [client for client in clients if client.queued]
        cut, self._cut = self._cut, set()
        if sum(client.queued for client in slow) > min(self._account, self.total):
            self._cut_all(slow)
        for connection in cut - self._cut:
            connection.output.max_lossy = self._each

    def _cut_all(self, clients: list[Connection]) -> None:
        by_account: dict[str, list[int]] = {}
        for client in clients:
            by_account.setdefault(client.link.account, []).append(client.queued)
        levels = {account: level(sizes, self._account) for account, sizes in by_account.items() if account}
        highest = level([client.queued for client in clients], self.total)
        for connection in clients:
            allowed = min(levels.get(connection.link.account, self._each), highest)
            if connection.queued > allowed:
                self._cut.add(connection)
                connection.limit_queue(allowed)


def level(sizes: Iterable[int], budget: int) -> int:
    """Return the highest level at which queues of these sizes, each cut to it, stay within a budget."""
    ordered = sorted(sizes)
    for done, size in enumerate(ordered):
        left = len(ordered) - done
        if size * left > budget:
            return budget // left
        budget -= size
    return max(ordered, default=budget)
